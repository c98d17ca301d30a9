"""Simulates actors of batchenv.integrations.ray on many nodes, from figures that bench_ray.py measured on one.

This is a simulation, not a measurement. Actors make fragments, which takes exponentially distributed times around a
mean; fragments travel one after the other over the network of the learner's machine; the learner takes them one after
the other. Each actor has `in_flight` fragments at most that are asked for and not yet taken, as RaySampler has it.
What it leaves out: the cost of placing actors and of pushing weights, Ray's own services for so many nodes, a network
that is slow in its middle, nodes that fail.

python tools/verify/simulate_ray.py --steps-per-second 14000 --fragment-steps 2048 --fragment-bytes 352000 \
    --take-us 6500
"""

import argparse
import heapq
import random


def simulate(actors, make, send, take, in_flight, count):
    """Fragments per second that the learner takes. make, send, take: seconds per fragment."""
    draw = random.Random(0)
    events = [(draw.expovariate(1 / make), k) for k in range(actors)]  # when an actor has finished a fragment
    heapq.heapify(events)
    asked = [in_flight] * actors  # fragments that an actor may still make, with the one that it makes
    returns = []  # when the learner takes fragments: (time, actor)
    network = learner = taken_at_half = 0.0
    taken = 0
    while taken < count:
        if returns and (not events or returns[0][0] <= events[0][0]):
            now, k = heapq.heappop(returns)
            taken += 1
            if taken == count // 2:
                taken_at_half = now
            asked[k] += 1
            if asked[k] == 1:  # it had nothing to do
                heapq.heappush(events, (now + draw.expovariate(1 / make), k))
            continue
        now, k = heapq.heappop(events)
        asked[k] -= 1
        if asked[k]:
            heapq.heappush(events, (now + draw.expovariate(1 / make), k))
        network = max(network, now) + send
        learner = max(learner, network) + take
        heapq.heappush(returns, (learner, k))
    return (count - count // 2) / (now - taken_at_half)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps-per-second", type=float, required=True, help="of one core")
    parser.add_argument("--cores", type=int, default=64, help="per node; one actor per node steps with all of them")
    parser.add_argument("--fragment-steps", type=float, required=True, help="of one core: steps times lanes")
    parser.add_argument("--fragment-bytes", type=float, required=True, help="for as many steps")
    parser.add_argument("--take-us", type=float, required=True, help="the learner's own time per fragment")
    parser.add_argument("--gigabits", type=float, default=100, help="per second, of the learner's network")
    parser.add_argument("--in-flight", type=int, default=2)
    args = parser.parse_args()
    make = args.fragment_steps / args.steps_per_second
    send = args.cores * args.fragment_bytes * 8 / (args.gigabits * 1e9)
    steps = args.cores * args.fragment_steps
    print("nodes        steps/s  of all nodes' steps")
    for nodes in (1, 10, 30, 100, 300, 1000):
        rate = simulate(nodes, make, send, args.take_us / 1e6, args.in_flight, max(20000, 20 * nodes)) * steps
        print(f"{nodes:5} {rate:14,.0f}  {rate / (nodes * args.cores * args.steps_per_second):.2f}")


if __name__ == "__main__":
    main()
