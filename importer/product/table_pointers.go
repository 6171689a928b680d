package product

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// nextRows is how many messages after a pointer are read to find the next one.
const nextRows = 200

// pointed reports whether the author of a message has a pointer. Then only the pointer reads, as in
// an import, and not the message.
func (x *tableChange) pointed(e *importer.Event) (bool, error) {
	if x.Mapping["pointers"] == "" || e.User == "" {
		return false, nil
	}
	thread := e.Thread
	if e.Broadcast {
		thread = ""
	}
	if at, known := x.viewed.get(e.Channel + "\x00" + e.User + "\x00" + thread); known {
		return at != "", nil
	}
	all, err := x.rows("pointers", map[string]string{"channel_id": e.Channel, "user_id": e.User}, tablePointer)
	for i := range all {
		if all[i].Thread == thread && place(&all[i]) != "" {
			return true, err
		}
	}
	return false, err
}

// place is the position of a pointer; "" if the user has viewed nothing.
func place(e *importer.Event) string {
	switch {
	case e.ID != "":
		return "id " + e.ID
	case e.Seq > 0:
		return "seq " + strconv.FormatUint(uint64(e.Seq), 10)
	case e.At > 0:
		return "time " + strconv.FormatInt(e.At, 10)
	}
	return ""
}

// pointers maps the pointers of the changed row.
func (x *tableChange) pointers() error {
	if x.kind == source.Removed {
		return nil // messages that they have read stay read
	}
	var times []string // of the pointers, as the database has them
	all, err := x.changed("pointers", func(f fields, e *importer.Event) bool {
		times = append(times, f.Text("time"))
		return tablePointer(f, e)
	})
	if err != nil {
		return err
	}
	if x.whole("channel_id", "user_id") && !slices.ContainsFunc(all, func(e importer.Event) bool { return e.Thread == "" }) {
		x.viewed.set(x.key["channel_id"]+"\x00"+x.key["user_id"]+"\x00", "") // they no longer have a pointer
	}
	for i := range all {
		e := &all[i]
		at := place(e)
		if !x.viewed.set(e.Channel+"\x00"+e.User+"\x00"+e.Thread, at) || at == "" {
			continue
		}
		found, err := x.settle(e, times[i])
		if err != nil {
			return err
		}
		if !found {
			x.f.problems.Add(x.f.origin(), "a pointer at a message that the source does not have", e.Channel+" "+e.User+" "+at)
			continue
		}
		if err := x.send(e); err != nil {
			return err
		}
	}
	return nil
}

// settle names the message of a pointer and the one after it, because the pointer may have moved
// back, or be before a message of the user's own.
func (x *tableChange) settle(e *importer.Event, time string) (found bool, err error) {
	e.Until = x.commit
	if e.ID != "" {
		if newest, seen := x.newest.get(e.Channel + "\x00" + e.Thread); seen && newest == e.ID {
			return true, nil
		}
	}
	if e.ID == "" && e.Seq > 0 {
		if found, err := x.numbered(e); !found || err != nil {
			return false, err
		}
	}
	behind := "live.posted_at > " + Literal(time)
	if e.ID != "" {
		behind = "live.posted_at >= (SELECT min(live.posted_at) FROM " + x.from("messages") + " WHERE live.channel_id = " + Literal(e.Channel) +
			" AND live.message_id = " + Literal(e.ID) + ")"
	}
	all, err := x.run("messages", fmt.Sprintf("SELECT live.* FROM %s WHERE %s AND %s ORDER BY live.posted_at LIMIT %d",
		x.from("messages"), within(e), behind, nextRows), tableMessage)
	if err != nil {
		return false, err
	}
	slices.SortFunc(all, func(a, b importer.Event) int { return a.Compare(&b) })
	from := 0
	if e.ID != "" {
		if from = slices.IndexFunc(all, func(m importer.Event) bool { return m.ID == e.ID }); from < 0 {
			return false, nil
		}
		from++
	}
	for i := range all[from:] {
		m := &all[from+i]
		if m.At > x.commit {
			break
		}
		if m.Until == 0 && (e.ID != "" || m.At > e.At) {
			e.Next = m.ID
			break
		}
	}
	return true, nil
}

// numbered turns a pointer at the n-th message of a channel into a pointer at that message.
func (x *tableChange) numbered(e *importer.Event) (found bool, err error) {
	all, err := x.run("messages", fmt.Sprintf("SELECT live.* FROM %s WHERE live.channel_id = %s ORDER BY live.posted_at, live.message_id LIMIT 1 OFFSET %d",
		x.from("messages"), Literal(e.Channel), e.Seq-1), tableMessage)
	if len(all) == 0 || err != nil {
		return false, err
	}
	e.ID, e.Seq = all[0].ID, 0
	return true, nil
}

// within returns the condition of messages in the pointer's channel or thread.
func within(e *importer.Event) string {
	where := "live.channel_id = " + Literal(e.Channel)
	if e.Thread == "" {
		return where
	}
	id := ""
	if e.ID != "" {
		id = " OR live.message_id = " + Literal(e.ID)
	}
	return where + " AND (live.thread_id = " + Literal(e.Thread) + id + ")"
}
