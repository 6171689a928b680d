// Program main writes records with the keys channel-0 to channel-59 by a client for Go:
//
//	main CLIENT BROKER TOPIC
package main

import (
	"context"
	"fmt"
	"hash"
	"log"
	"os"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
)

const records = 60

func main() {
	client, broker, topic := os.Args[1], os.Args[2], os.Args[3]
	write, ok := map[string]func(broker, topic string) error{
		"sarama":         viaSarama(sarama.NewHashPartitioner), // the default of sarama.NewConfig
		"sarama-murmur2": viaSarama(sarama.NewMurmur2Partitioner),
		"sarama-custom": viaSarama(sarama.NewCustomPartitioner(sarama.WithAbsFirst(),
			sarama.WithCustomHashFunction(func() hash.Hash32 { return new(murmur2) }))),
		"kafka-go":         viaKafkaGo(nil),
		"kafka-go-murmur2": viaKafkaGo(kafka.Murmur2Balancer{}),
	}[client]
	if !ok {
		log.Fatalf("no client %s", client)
	}
	if err := write(broker, topic); err != nil {
		log.Fatal(err)
	}
}

func viaSarama(partitioner sarama.PartitionerConstructor) func(broker, topic string) error {
	return func(broker, topic string) error {
		config := sarama.NewConfig()
		config.Producer.Return.Successes = true
		config.Producer.Partitioner = partitioner
		p, err := sarama.NewSyncProducer([]string{broker}, config)
		if err != nil {
			return err
		}
		defer p.Close()
		for i := range records {
			m := &sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(fmt.Sprint("channel-", i)), Value: sarama.StringEncoder("{}")}
			if _, _, err := p.SendMessage(m); err != nil {
				return err
			}
		}
		return nil
	}
}

func viaKafkaGo(balancer kafka.Balancer) func(broker, topic string) error {
	return func(broker, topic string) error {
		w := &kafka.Writer{Addr: kafka.TCP(broker), Topic: topic, Balancer: balancer}
		var messages []kafka.Message
		for i := range records {
			messages = append(messages, kafka.Message{Key: fmt.Append(nil, "channel-", i), Value: []byte("{}")})
		}
		if err := w.WriteMessages(context.Background(), messages...); err != nil {
			return err
		}
		return w.Close()
	}
}

// murmur2 is the hash of Kafka's client for Java, for versions of Sarama that do not have it.
type murmur2 struct{ data []byte }

func (m *murmur2) Write(b []byte) (int, error) { m.data = append(m.data, b...); return len(b), nil }
func (m *murmur2) Reset()                      { m.data = m.data[:0] }
func (m *murmur2) Size() int                   { return 4 }
func (m *murmur2) BlockSize() int              { return 4 }

func (m *murmur2) Sum(b []byte) []byte {
	n := m.Sum32()
	return append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func (m *murmur2) Sum32() uint32 {
	const mul = 0x5bd1e995
	b := m.data
	h := uint32(0x9747b28c) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24) * mul
		h = h*mul ^ (k^k>>24)*mul
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * mul
	}
	h = (h ^ h>>13) * mul
	return h ^ h>>15
}
