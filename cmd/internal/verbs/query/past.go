package query

import (
	"errors"
	"time"

	"github.com/tidemark/tidemark/app/travel"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// pastFlags are the flags of a query that can be answered as of a moment of the past.
type pastFlags struct {
	queryFlags
	At              string `group:"The past:" placeholder:"MOMENT" help:"Answer as of this moment: a time, such as '2026-11-20 10:32' (of this machine's zone) or 2026-11-20T10:32:00Z, by the timestamps of the records; or the as_of of an answer, its tokens separated by commas."`
	verbs.PastFlags `group:"The past:"`
}

// Validate checks that the flags fit together.
func (f *pastFlags) Validate() error {
	switch {
	case f.At == "" && f.Offline:
		return errors.New("--offline needs --at: it folds the topics up to that moment")
	case f.At != "" && len(f.After) > 0:
		return errors.New("--at and --after exclude each other: the past has nothing to wait for")
	}
	if f.At != "" {
		if _, err := f.moment(); err != nil {
			return err
		}
	}
	return f.queryFlags.Validate()
}

func (f *pastFlags) moment() (travel.Moment, error) {
	m, err := travel.ParseMoment(f.At, time.Local)
	if err != nil {
		return m, errors.New("--at: " + err.Error())
	}
	return m, nil
}

// client returns what answers: the node now, the node as of a moment, or this process as of it.
func (f *pastFlags) client(a *verbs.App) (queryv1connect.QueryServiceClient, time.Duration, error) {
	if f.At == "" {
		return f.queryFlags.client(a)
	}
	m, err := f.moment()
	if err != nil {
		return nil, 0, err
	}
	if !f.Offline {
		return f.ServiceAt(m), travel.Patience + verbs.QueryTimeout, nil
	}
	g, err := f.Guide(a)
	if err != nil {
		return nil, 0, err
	}
	return g.Client(m), travel.Patience + verbs.QueryTimeout, nil
}

// listFlags are the flags of a query about all channels of a user, which a node answers only as of
// now.
type listFlags struct{ pastFlags }

// Validate checks that the flags fit together.
func (f *listFlags) Validate() error {
	if f.At != "" && !f.Offline {
		return errors.New("--at needs --offline here: a query about all channels of a user folds every partition, which a running node does not do")
	}
	return f.pastFlags.Validate()
}
