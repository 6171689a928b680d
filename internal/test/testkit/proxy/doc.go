// Package proxy puts a line that can be broken between a client and its server: Kafka, Redis, a
// WebSocket, anything over TCP. It never changes bytes; it only decides whether, when and how fast
// they pass.
//
//	line := proxy.New(t, redisAddr)         // a listener: for clients that are given an address
//	redis.NewClient(&redis.Options{Addr: line.Addr()})
//
//	line := proxy.NewLine(t)                // no listener: for clients that take a dialer
//	kgo.Dialer(line.Dialer(nil))
//
// A Kafka client needs the second form, because the brokers tell it their own addresses.
//
// A line without a listener can also run over a network in memory, in a bubble of testing/synctest.
//
// The faults of a line:
//
//	Break     all connections end at once; new ones are welcome     a proxy or a server restarts
//	Cut       the same, and none can be made until Mend             a cable is pulled
//	Freeze    nothing passes in a direction, nothing is closed      a firewall drops packets
//	Abandon   the server's ends are closed, the clients' are not    half-open: a server rebooted
//	SetDelay  each byte arrives so much later                       a far data centre
//	SetRate   so many bytes a second pass                           a full link
//	CutAfter  the connection ends with the n-th byte from now       cut in the middle of an answer
//	CutKafka  the connection ends in the middle of a request or     a broker dies before or after it
//	          answer of a kind                                      applies a request
//
//	proxy.go    a line with a listener
//	line.go     a line and its faults
//	link.go     one connection
//	cut.go      whether a cut is due in the bytes that pass
//	kafka.go    where the requests and answers of a broker are in these bytes
//	passage.go  what the bytes of a line wait for
package proxy
