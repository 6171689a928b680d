package adopt

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// makeSlot makes the replication slot of the import; nil if none is needed. An interrupted import
// has lost its snapshot, so it gets a new slot and continues as of that moment. The import claims
// the slot before it makes it, so that it recognizes the slot after a crash in between. makeSlot
// returns ErrDone if the import is done.
func (c *Import) makeSlot(a *verbs.App, conf importer.Config) (*source.Slot, error) {
	tables := c.follows()
	if tables == nil || c.DryRun {
		return nil, nil
	}
	if _, err := c.address(a); err != nil {
		return nil, err
	}
	state, err := importer.Load(a.Ctx, conf)
	if err != nil {
		return nil, err
	}
	if state != nil && state.Done() {
		return nil, importer.ErrDone
	}
	if err := source.CheckPublications(a.Ctx, c.Source, c.Slot, tables); err != nil {
		return nil, err
	}
	_, err = source.RetainedBy(a.Ctx, c.Source, c.Slot)
	switch {
	case errors.Is(err, source.ErrNoSlot):
		if err := importer.Claim(a.Ctx, conf); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		ours := state != nil
		if !ours {
			if ours, err = importer.Claimed(a.Ctx, conf); err != nil {
				return nil, err
			}
		}
		if ours {
			if err := source.DropSlot(a.Ctx, c.Source, c.Slot); err != nil && !errors.Is(err, source.ErrNoSlot) {
				return nil, err
			}
		}
	}
	return source.CreateSlot(a.Ctx, c.Source, c.Slot)
}

// slotLeft removes the slot of an import that has not begun, so that the database holds nothing
// back for it. If an interrupted import keeps its slot, the error says so.
func (c *Import) slotLeft(a *verbs.App, conf importer.Config, slot *source.Slot, err error) error {
	if slot == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.Ctx), verbs.Patience)
	defer cancel()
	if state, loading := importer.Load(ctx, conf); loading == nil && state == nil && source.DropSlot(ctx, c.Source, c.Slot) == nil {
		return err
	}
	return fmt.Errorf("%w; the database keeps its log for the slot %s until the same command has continued, or `tidemark import --drop-slot` removes it", err, c.Slot)
}

// dropSlot removes the slot after a confirmation.
func (c *Import) dropSlot(a *verbs.App) error {
	if _, err := c.address(a); err != nil {
		return err
	}
	retained, err := source.RetainedBy(a.Ctx, c.Source, c.Slot)
	if err != nil {
		return fmt.Errorf("--slot %s: %w", c.Slot, err)
	}
	if err := c.Confirm(a, fmt.Sprintf("removes the replication slot of the database: %v, and no bridge can continue from it", retained)); err != nil {
		return err
	}
	if err := source.DropSlot(a.Ctx, c.Source, c.Slot); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%v; the slot is removed\n", retained)
	return nil
}
