"""Writes records with the keys channel-0 to channel-59: kafkapython.py BROKER TOPIC"""

import sys

from kafka import KafkaProducer

producer = KafkaProducer(bootstrap_servers=sys.argv[1])
for sent in [producer.send(sys.argv[2], key=b"channel-%d" % i, value=b"{}") for i in range(60)]:
    sent.get(60)
producer.close()
