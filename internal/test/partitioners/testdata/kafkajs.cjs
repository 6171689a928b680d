// Writes records with the keys channel-0 to channel-59: kafkajs.cjs BROKER TOPIC

const { Kafka, logLevel } = require('kafkajs');

const [broker, topic] = process.argv.slice(2);
const producer = new Kafka({ brokers: [broker], logLevel: logLevel.ERROR }).producer();
const messages = Array.from({ length: 60 }, (_, i) => ({ key: `channel-${i}`, value: '{}' }));
producer.connect().then(() => producer.send({ topic, messages })).then(() => producer.disconnect());
