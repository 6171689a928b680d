package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

var errDocument = errors.New("it is no change that Debezium's connector for MongoDB has written: the topic needs Debezium's JSON, with or without its schema, " +
	"and no transformation that unwraps it (ExtractNewDocumentState)")

// DecodeDocument decodes a change of a document as Debezium's connector for MongoDB writes it: the
// document is extended JSON in a text, the key has its id, and there is nothing of it before the
// change. The row has the document's fields, and the _id of each document in it as NAME._id. Of a
// removed document, and of one that was removed while Debezium looked for it, it has the id alone.
// DecodeDocument returns nil for a tombstone.
func DecodeDocument(key, value []byte) (*Envelope, error) {
	if value, key = payload(value), payload(key); len(value) == 0 {
		return nil, nil
	}
	var e struct {
		After  *string
		Op     string
		Millis int64 `json:"ts_ms"`
		Source *struct {
			Connector  string          `json:"connector"`
			Collection string          `json:"collection"`
			Snapshot   json.RawMessage `json:"snapshot"`
			Millis     int64           `json:"ts_ms"`
			Order      uint64          `json:"ord"`
		}
	}
	if err := json.Unmarshal(value, &e); err != nil {
		return nil, fmt.Errorf("%w (%w)", errDocument, err)
	}
	s := e.Source
	if s == nil || e.Op == "" || s.Connector != "mongodb" {
		return nil, errDocument
	}
	// MongoDB counts the operations of each second.
	at := LSN(uint64(s.Millis/1000)<<32 | s.Order&0xffffffff) //nolint:gosec // a time after 1970
	x := &Envelope{TxID: uint32(at>>32)<<12 ^ uint32(at), At: at, After: at, Time: time.UnixMilli(s.Millis)}
	if !x.operate(e.Op, s.Snapshot) { // the collection was dropped, or nothing was changed
		return x, nil
	}
	if x.Kind == Removed {
		e.After = nil
	}
	var err error
	x.Row, err = documentRow(s.Collection, key, e.After)
	return x, err
}

// payload takes a value out of its schema. It returns nil where there is nothing in it.
func payload(value []byte) []byte {
	var whole struct {
		Schema  json.RawMessage `json:"schema"`
		Payload json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(value, &whole) == nil && (whole.Schema != nil || whole.Payload != nil) {
		value = whole.Payload
	}
	if string(value) == "null" {
		return nil
	}
	return value
}

// documentRow returns a document as a row.
func documentRow(collection string, key []byte, document *string) (*Row, error) {
	row := &Row{Table: collection}
	var text string
	if document != nil {
		text = *document
	} else {
		var k struct {
			ID string `json:"id"` // extended JSON
		}
		if err := json.Unmarshal(key, &k); err != nil || k.ID == "" {
			return nil, errDocument
		}
		text = `{"_id":` + k.ID + `}`
	}
	var raw bson.Raw
	if err := bson.UnmarshalExtJSON([]byte(text), false, &raw); err != nil {
		return nil, fmt.Errorf("%w (%w)", errDocument, err)
	}
	elements, err := raw.Elements()
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errDocument, err)
	}
	add := func(name string, v bson.RawValue) {
		text, null := bsonText(v)
		row.columns, row.values, row.null = append(row.columns, name), append(row.values, text), append(row.null, null)
	}
	for _, e := range elements {
		add(e.Key(), e.Value())
		if inner, ok := e.Value().DocumentOK(); ok {
			if id, err := inner.LookupErr("_id"); err == nil {
				add(e.Key()+"._id", id)
			}
		}
	}
	return row, nil
}
