"""Writes records with the keys channel-0 to channel-59: confluent.py BROKER TOPIC [PARTITIONER]"""

import sys

from confluent_kafka import Producer

config = {"bootstrap.servers": sys.argv[1]}
if len(sys.argv) > 3:
    config["partitioner"] = sys.argv[3]
producer = Producer(config)
for i in range(60):
    producer.produce(sys.argv[2], key=f"channel-{i}", value="{}")
if producer.flush(60) > 0:
    sys.exit("not all records were written")
