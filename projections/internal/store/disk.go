package store

import "github.com/cockroachdb/pebble/v2"

// Disk is what a store is on its disk.
type Disk struct {
	Bytes       uint64   // of all its files
	Written     uint64   // bytes that Pebble has written since it was opened: its log, flushes and compactions
	Levels      []uint64 // bytes of the tables of each level
	L0Sublevels int32    // Pebble delays writes beyond 12
	ReadAmp     int      // tables that a read may have to look at
	Debt        uint64   // bytes that compactions have still to write
	Compactions int64    // that have ended
	Stalls      int64    // writes that Pebble has made wait
}

// Disk asks the database behind the fuse. It takes Pebble's lock, for some microseconds.
func (f *Fuse) Disk(db *pebble.DB) Disk {
	m := db.Metrics()
	d := Disk{Bytes: m.DiskSpaceUsage(), Written: m.WAL.BytesWritten, L0Sublevels: m.Levels[0].Sublevels, ReadAmp: m.ReadAmp(),
		Debt: m.Compact.EstimatedDebt, Compactions: m.Compact.Count, Stalls: f.stalls.Load()}
	for i := range m.Levels {
		d.Levels = append(d.Levels, uint64(m.Levels[i].AggregateSize()))
		d.Written += m.Levels[i].TableBytesFlushed + m.Levels[i].TableBytesCompacted
	}
	return d
}
