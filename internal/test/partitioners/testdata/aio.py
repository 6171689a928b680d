"""Writes records with the keys channel-0 to channel-59: aio.py BROKER TOPIC"""

import asyncio
import sys

from aiokafka import AIOKafkaProducer


async def main() -> None:
    async with AIOKafkaProducer(bootstrap_servers=sys.argv[1]) as producer:
        for i in range(60):
            await producer.send_and_wait(sys.argv[2], key=b"channel-%d" % i, value=b"{}")


asyncio.run(main())
