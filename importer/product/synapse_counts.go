package product

import (
	"context"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/needs"
	"github.com/tidemark/tidemark/importer/product/internal/synapse"
)

// Counts computes the numbers of this server's users in the rooms that they are in.
func (s *Synapse) Counts(ctx context.Context, users []string, p *importer.Problems, emit func(importer.Count) error) error {
	if _, err := needs.Check(ctx, s.Source, "Synapse", synapse.CountsNeeds); err != nil {
		return err
	}
	_, err := counts{s.Source, p, [4]string{"room_id", "user_id", "thread_id", "mentions"}}.read(ctx, synapse.Counts(literals(users)), users, emit)
	return err
}

// WhileMuted reads when users had muted rooms, and which messages came then.
func (s *Synapse) WhileMuted(ctx context.Context, in map[string][]string, p *importer.Problems, emit func(user, room, id string) error) (unknown string, err error) {
	return synapse.WhileMuted(ctx, s.Source, in, p, emit)
}

// SynapseHealPrologue has what the statements of SynapseHeal use.
var SynapseHealPrologue = synapse.HealPrologue

// SynapseHeal returns the statement that corrects a number, if it is still the compared one.
func SynapseHeal(user, room, thread string, theirs, ours int64) string {
	return synapse.Heal(user, room, thread, theirs, ours)
}
