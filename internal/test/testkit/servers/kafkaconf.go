package servers

import (
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
)

// log4j2Properties sends errors to standard output, which is the node's log file.
const log4j2Properties = `status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
`

// serverProperties is the configuration of node id (from 1) of a cluster whose nodes listen at the
// given ports. It differs from a production broker in that it is small, reacts fast and allows
// short group timeouts.
func serverProperties(dir string, id int, listen, control []int, extra map[string]string) map[string]string {
	nodes := len(listen)
	replicas := strconv.Itoa(nodes)
	minISR := strconv.Itoa(nodes/2 + 1)
	voters := make([]string, nodes)
	for i, port := range control {
		voters[i] = fmt.Sprintf("%d@127.0.0.1:%d", i+1, port)
	}
	addr := fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", listen[id-1])
	p := map[string]string{
		"process.roles":                    "broker,controller",
		"node.id":                          strconv.Itoa(id),
		"controller.quorum.voters":         strings.Join(voters, ","),
		"listeners":                        fmt.Sprintf("%s,CONTROLLER://127.0.0.1:%d", addr, control[id-1]),
		"advertised.listeners":             addr,
		"controller.listener.names":        "CONTROLLER",
		"inter.broker.listener.name":       "PLAINTEXT",
		"log.dirs":                         filepath.Join(dir, "data"),
		"auto.create.topics.enable":        "false",
		"log.cleaner.dedupe.buffer.size":   "16777216",
		"log.cleaner.backoff.ms":           "1000", // compacts within seconds after a test requests it
		"num.network.threads":              "2",
		"num.io.threads":                   "4",
		"group.initial.rebalance.delay.ms": "0",
		"group.min.session.timeout.ms":     "500",

		"offsets.topic.num.partitions":                     "4",
		"offsets.topic.replication.factor":                 replicas,
		"transaction.state.log.num.partitions":             "4",
		"transaction.state.log.replication.factor":         replicas,
		"transaction.state.log.min.isr":                    minISR,
		"share.coordinator.state.topic.num.partitions":     "4",
		"share.coordinator.state.topic.replication.factor": replicas,
		"share.coordinator.state.topic.min.isr":            minISR,

		// The others notice a killed broker after 3 s instead of 9.
		"broker.heartbeat.interval.ms": "500",
		"broker.session.timeout.ms":    "3000",
	}
	maps.Copy(p, extra)
	return p
}

// secure adds a listener for TLS and SCRAM-SHA-512, and Kafka's own authorizer. Clients of the
// other listeners, including the controllers, are anonymous and have all rights.
func secure(p map[string]string, port int, cert, key []byte) {
	listener := fmt.Sprintf(",SASL_SSL://127.0.0.1:%d", port)
	p["listeners"] += listener
	p["advertised.listeners"] += listener
	p["listener.security.protocol.map"] = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL"
	p["sasl.enabled.mechanisms"] = "SCRAM-SHA-512"
	p["listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	p["ssl.keystore.type"] = "PEM"
	p["ssl.keystore.certificate.chain"] = property(cert)
	p["ssl.keystore.key"] = property(key)
	p["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
	p["super.users"] = "User:ANONYMOUS"
	p["allow.everyone.if.no.acl.found"] = "false"
}

// property encodes a text of several lines as a value in a properties file.
func property(text []byte) string {
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\\n")
}
