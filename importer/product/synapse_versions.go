package product

import (
	"context"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/synapse"
	"github.com/tidemark/tidemark/importer/source"
)

// Versions reads whom the versions of edited messages mentioned. Versions whose content Synapse has
// removed are not among them.
func (s *Synapse) Versions(ctx context.Context, rooms []string, emit func(*importer.Event) error) error {
	_, err := s.Source.Rows(ctx, "events", synapse.Versions(literals(rooms), messageTypes), func(row *source.Row) error {
		content, ok := synapseContent(fields{row, &importer.Problems{}}, "json")
		if !ok {
			return nil
		}
		e := importer.Event{Kind: importer.KindEdit, Channel: row.Text("room_id"), User: row.Text("sender"), ID: row.Text("event_id")}
		if content.Relates.Type == "m.replace" {
			e.ID = content.Relates.ID
			if content = content.Edited; content == nil {
				return nil
			}
		}
		e.Mentions = content.Mentions.Users
		return emit(&e)
	})
	return err
}
