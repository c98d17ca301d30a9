"""What steps lanes: the interface that BatchEnv uses, the backend of C types, and what all backends share."""
