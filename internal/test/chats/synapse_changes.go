package chats

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inOrder are the tables that a bridge reads, in the order in which a transaction of Synapse writes
// them.
var inOrder = []string{
	"rooms", "events", "event_json", "event_relations", "redactions", "room_memberships", "current_state_events", "local_current_membership",
	"receipts_linearized", "account_data", "push_rules", "push_rules_enable", "thread_subscriptions",
}

// Changes returns the statements of the transaction that brings the tables from the rows of the
// previous call to the current rows. The first call also creates the tables.
func (s *Synapse) Changes() string {
	rows := s.rows()
	var b strings.Builder
	if s.written == nil {
		b.WriteString(synapseTables)
	}
	for _, table := range inOrder {
		was, is := s.written[table], rows[table]
		gone := slices.DeleteFunc(slices.Clone(was), func(row string) bool { return slices.Contains(is, row) })
		fresh := slices.DeleteFunc(slices.Clone(is), func(row string) bool { return slices.Contains(was, row) })
		if len(gone) == 1 && len(fresh) == 1 {
			fmt.Fprintf(&b, "UPDATE %s t SET %s WHERE ROW(t.*) IS NOT DISTINCT FROM ROW%s;\n", table, assigned(table, fresh[0]), gone[0])
			continue
		}
		for _, row := range gone {
			fmt.Fprintf(&b, "DELETE FROM %s t WHERE ROW(t.*) IS NOT DISTINCT FROM ROW%s;\n", table, row)
		}
		if len(fresh) > 0 {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES %s;\n", table, strings.Join(fresh, ",\n"))
		}
	}
	s.written = maps.Clone(rows)
	return b.String()
}

// assigned returns the assignments of a row to the columns of a table.
func assigned(table, row string) string {
	_, columns, _ := strings.Cut(synapseTables, "CREATE TABLE "+table+" (")
	columns, _, _ = strings.Cut(columns, ");\n")
	var names []string
	for _, c := range strings.Split(columns, ",") {
		if name := strings.Fields(c)[0]; name != "UNIQUE" && !strings.HasSuffix(name, ")") {
			names = append(names, name)
		}
	}
	return "(" + strings.Join(names, ", ") + ") = ROW" + row
}
