package store

import "github.com/cockroachdb/pebble/v2"

// Disk describes the space that a store uses on its disk.
type Disk struct {
	Bytes       uint64   // size of all its files
	Written     uint64   // bytes that Pebble has written since it was opened: its log, flushes, compactions, and the tables of large batches
	Levels      []uint64 // size of the tables of each level, in bytes
	L0Sublevels int32    // Pebble stops writes from 32 on
	ReadAmp     int      // tables that one read may have to search
	Debt        uint64   // bytes that compactions have still to write
	Compactions int64    // compactions that have ended
	Stalls      int64    // writes that Pebble has delayed
}

// Disk returns the statistics of the database behind the fuse. It takes Pebble's lock for some
// microseconds.
func (f *Fuse) Disk(db *pebble.DB) Disk {
	m := db.Metrics()
	d := Disk{Bytes: m.DiskSpaceUsage(), Written: m.WAL.BytesWritten, L0Sublevels: m.Levels[0].Sublevels, ReadAmp: m.ReadAmp(),
		Debt: m.Compact.EstimatedDebt, Compactions: m.Compact.Count, Stalls: f.stalls.Load()}
	for i := range m.Levels {
		d.Levels = append(d.Levels, uint64(m.Levels[i].AggregateSize()))
		d.Written += m.Levels[i].TableBytesFlushed + m.Levels[i].TableBytesCompacted + m.Levels[i].TableBytesIngested
	}
	return d
}
