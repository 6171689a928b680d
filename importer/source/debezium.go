package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Envelope is a change of a row as Debezium's connector for PostgreSQL writes it.
type Envelope struct {
	Kind     ChangeKind // 0: no row was changed
	Row      *Row       // as in Change
	TxID     uint32     // the transaction
	After    LSN        // end of the transaction that was committed before it, if Debezium states it
	At       LSN        // of the change
	Time     time.Time  // of the commit
	Snapshot string     // not "": a row that was read, not changed
}

// unavailable stands for a large value that has not changed.
const unavailable = "__debezium_unavailable_value"

// errEnvelope is the error for a value that no connector for PostgreSQL writes.
var errEnvelope = errors.New("it is no change that Debezium's connector for PostgreSQL has written: the topic needs Debezium's JSON, with or without its schema, " +
	"and no transformation that unwraps it (ExtractNewRecordState)")

// DecodeEnvelope decodes the value of a record in JSON, with or without its schema. It returns nil
// for a tombstone, which follows a removed row.
func DecodeEnvelope(value []byte) (*Envelope, error) {
	if len(value) == 0 {
		return nil, nil
	}
	var whole struct {
		Payload json.RawMessage `json:"payload"`
		Op      string          `json:"op"`
	}
	if err := json.Unmarshal(value, &whole); err != nil {
		return nil, fmt.Errorf("%w (%w)", errEnvelope, err)
	}
	if whole.Op == "" && len(whole.Payload) > 0 {
		if value = whole.Payload; string(value) == "null" {
			return nil, nil
		}
	}
	var e struct {
		Before, After map[string]json.RawMessage
		Op            string
		Source        *struct {
			Connector string          `json:"connector"`
			Table     string          `json:"table"`
			Snapshot  json.RawMessage `json:"snapshot"`
			Sequence  string          `json:"sequence"`
			TxID      int64           `json:"txId"`
			LSN       uint64          `json:"lsn"`
			Millis    int64           `json:"ts_ms"`
		}
	}
	if err := json.Unmarshal(value, &e); err != nil {
		return nil, fmt.Errorf("%w (%w)", errEnvelope, err)
	}
	s := e.Source
	if s == nil || e.Op == "" || s.Connector != "" && s.Connector != "postgresql" {
		return nil, errEnvelope
	}
	x := &Envelope{TxID: uint32(s.TxID), At: LSN(s.LSN), After: LSN(s.LSN), Time: time.UnixMilli(s.Millis)}
	var sequence []string // the last commit and this change; older versions of Debezium state neither
	if json.Unmarshal([]byte(s.Sequence), &sequence) == nil && len(sequence) == 2 {
		last, _ := strconv.ParseUint(sequence[0], 10, 64) // null before the first commit
		x.After = LSN(last)
	}
	if !x.operate(e.Op, s.Snapshot) {
		if e.Op == "t" { // all rows were removed at once; else a message in the log, which belongs to no row
			x.Row = &Row{Table: s.Table}
		}
		return x, nil
	}
	of := e.After
	if x.Kind == Removed {
		of = e.Before
	}
	if of == nil {
		return nil, errEnvelope
	}
	x.Row = envelopeRow(s.Table, of)
	return x, nil
}

// operate sets the kind of a change, and whether its row was read for a snapshot. It returns false
// for an operation that is of no single row.
func (x *Envelope) operate(op string, snapshot json.RawMessage) bool {
	if text := strings.Trim(string(snapshot), `"`); text != "" && text != "false" && text != "null" {
		x.Snapshot = text
	}
	switch op {
	case "c":
		x.Kind = Inserted
	case "u":
		x.Kind = Updated
	case "d":
		x.Kind = Removed
	case "r":
		if x.Kind = Inserted; x.Snapshot == "" {
			x.Snapshot = "true"
		}
	default:
		return false
	}
	return true
}

func envelopeRow(table string, of map[string]json.RawMessage) *Row {
	row := &Row{Table: table}
	for _, column := range slices.Sorted(maps.Keys(of)) {
		raw, text := of[column], ""
		null := string(raw) == "null"
		switch {
		case null:
		case raw[0] == '"':
			if json.Unmarshal(raw, &text) != nil || text == unavailable {
				continue
			}
		default:
			text = string(raw)
		}
		row.columns, row.values, row.null = append(row.columns, column), append(row.values, text), append(row.null, null)
	}
	return row
}
