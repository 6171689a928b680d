package projections

import (
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// formatsLog makes at least one record of every format of docs/formats.md.
func formatsLog(t *testing.T, p *Partition) {
	t.Helper()
	b := func(s string) []byte { return []byte(s) }
	var m, r int64
	msg := func(e events.Message) {
		e.ChannelID = b("c")
		p.rules.FoldMessage(&e, m, e.OccurredAt)
		m++
	}
	read := func(e events.Read) {
		e.ChannelID = b("c")
		p.rules.FoldRead(&e, r, e.OccurredAt)
		r++
	}
	msg(events.Message{Kind: events.KindMembersJoined, OccurredAt: 1000, IDs: [][]byte{b("ann"), b("bob")}})
	for i := range 18 {
		e := events.Message{Kind: events.KindMessagePosted, OccurredAt: 2000 + int64(i), MessageID: b(fmt.Sprintf("m%d", i+1)), SenderID: b("bob"), Preview: b("hi")}
		switch i {
		case 2:
			e.Silent = true
		case 3:
			e.IDs = [][]byte{b("ann")}
		case 4:
			e.MentionAll = true
		case 5:
			e.ThreadID = b("m1")
		}
		msg(e)
	}
	msg(events.Message{Kind: events.KindMessageDeleted, OccurredAt: 3000, MessageID: b("m8")})
	read(events.Read{Kind: events.KindReadUpTo, UserID: b("ann"), OccurredAt: 4000, Target: events.TargetSeq, Seq: 2})
	read(events.Read{Kind: events.KindMessagesRead, UserID: b("ann"), OccurredAt: 4001, IDs: [][]byte{b("m7")}})
	read(events.Read{Kind: events.KindMarkedUnread, UserID: b("bob"), OccurredAt: 4002, MessageID: b("m17")})
	read(events.Read{Kind: events.KindReadUpTo, UserID: b("guest"), OccurredAt: 4003, Target: events.TargetMessageID, MessageID: b("later")})
	mustCut(t, p)
}

// TestFormats pins the bytes of every record format. A difference here is a new format version.
func TestFormats(t *testing.T) {
	id := Identity{ClusterID: "cluster", Partition: 1, Partitions: 4, Settings: DefaultSettings()}
	for i, name := range []string{"chat.messages", "chat.reads", "chat.deliveries"} {
		id.Topics[i] = TopicIdentity{Name: name, ID: [16]byte{byte(i + 1)}}
	}
	p, err := Open("store", id, Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	formatsLog(t, p)
	var got []string
	it, err := p.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		if k := string(it.Key()); k[0] != 'I' || strings.HasSuffix(k, "m1") {
			got = append(got, fmt.Sprintf("%q %s", it.Key(), hex.EncodeToString(it.Value())))
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	sort.Strings(got)
	if diff := strings.Join(got, "\n"); diff != strings.TrimSpace(formatsGolden) {
		t.Errorf("the stored bytes differ from the golden ones:\n%s", diff)
	}
}

const formatsGolden = `
"Cc\x00Tm1\x00\x00\x00" 000601
"Cc\x00a\x00\x00" 000501
"Cc\x00c" 0012101200020214a01fc21f00026d39090909001100c01f001101036d313703626f620268691100c21f001201036d313803626f62026869
"Cc\x00d\x00\x00" 000801
"Cc\x00fbob\x00m1" 000608000600aa1f
"Cc\x00gguest" 200008
"Cc\x00mann\x00\x00\x00" 000401
"Cc\x00n\x00\x00" 0003010201
"Cc\x00p\x00\x00\x00\x00" 03616e6e250002c03e000403626f62bd0010c43e041200c21f010203000000
"Cc\x00rguest" 01010003000006c63ec6cee4c004c63e000000056c6174657200
"Cc\x00sann\x00\x00\x00" 000701
"Cc\x00tm1" 000106
"Cc\x00wbob" 0103c43ec4cee4c004
"Cc\x00wguest" 0001010000000006c63ec6cee4c004c63e000000056c6174657200
"H" 010207636c75737465720d636861742e6d65737361676573010000000000000000000000000000000a636861742e7265616473020000000000000000000000000000000f636861742e64656c6976657269657303000000000000000000000000000000010432320180e0e2f739140400f02ec63effffffffffffffffff0193970ef64134d579331bdc9d42b4705c
"Ic\x00m1" 0100a01f00
"K\x00\x00\x00\x00\x00\x00\x00\x00" 
"K\x00\x00\x00\x00\x00\x00\x00\x01" 73b06e9b926b7a89a620fdc2c6407bbb
"Lc\x00\x00\x00\x00\x00" 001040a01f000100026d3103626f620268691040a21f000201026d3203626f620268691041a41f000300026d3303626f620268691560a61f000402026d3403626f620268690403616e6e1048a81f000501026d3503626f620268691442aa1f000600026d3603626f62026869026d31001040ac1f000702026d3703626f620268690e50ae1f000801026d3803626f62001040b01f000901026d3903626f620268691100b21f000a01036d313003626f620268691100b41f000b01036d313103626f620268691100b61f000c01036d313203626f620268691100b81f000d01036d313303626f620268691100ba1f000e01036d313403626f620268691100bc1f000f01036d313503626f620268691100be1f001001036d313603626f62026869
"Rc\x00\x00\x00\x00\x00\x00\x00\x00\x00" c03e0100850401
`
