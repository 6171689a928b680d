package processor

import (
	"context"
	"slices"
	"time"

	"github.com/tidemark/tidemark/processor/internal/group"
)

// The settings of a node are part of its stores' identity. If a partition moves between members
// with different settings, the new owner refuses its store or folds it anew, and the numbers change
// with the owner. No member can tell which settings are right, so each one reports the difference
// and goes on.

const (
	// settingsEvery is how often a member compares the settings of the group's members.
	settingsEvery = 10 * time.Second
	// settingsAgain is how often the same difference is logged.
	settingsAgain = 10 * time.Minute
)

// settingsSeen is the last report of compareSettings.
type settingsSeen struct {
	others []group.Differing
	at     time.Time
}

// compareSettings logs members with other settings until ctx is done.
func (p *Processor) compareSettings(ctx context.Context) {
	tick := time.NewTicker(settingsEvery)
	defer tick.Stop()
	var seen settingsSeen
	for {
		p.compareOnce(ctx, &seen)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// compareOnce compares the settings once.
func (p *Processor) compareOnce(ctx context.Context, seen *settingsSeen) {
	ctx, cancel := context.WithTimeout(ctx, settingsEvery)
	defer cancel()
	own := p.cfg.Settings.String()
	others, ok, err := p.directory.Differing(ctx, own)
	if err != nil || !ok {
		return // tried again later; other parts of the node report trouble with the brokers
	}
	p.metrics.OtherSettings.Set(float64(len(others)))
	now := p.cfg.Now()
	same := slices.Equal(others, seen.others)
	switch {
	case len(others) > 0 && (!same || now.Sub(seen.at) >= settingsAgain):
		p.log.Error("members of the group fold with other settings: restart those that are wrong with the settings of the others",
			"own", own, "others", others)
	case len(others) == 0 && !same:
		p.log.Info("all members of the group fold with the same settings again", "own", own)
	default:
		return
	}
	*seen = settingsSeen{others, now}
}
