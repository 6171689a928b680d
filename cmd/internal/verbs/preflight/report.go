package preflight

// Result says how a check ended.
type Result string

// The results.
const (
	OK      Result = "ok"
	Failed  Result = "failed"  // a node would not start, or not work
	Unknown Result = "unknown" // could not be checked with these rights; a node may work
)

// Line is one check.
type Line struct {
	Check  string `json:"check"`
	Result Result `json:"result"`
	Found  string `json:"found"`
	WayOut string `json:"way_out,omitempty"` // what to do; empty if it is ok
}

// Report collects lines.
type Report struct{ Lines []Line }

// OK adds a check that found what a node needs.
func (r *Report) OK(check, found string) { r.add(check, OK, found, "") }

// Failed adds a check that found what a node cannot work with.
func (r *Report) Failed(check, found, wayOut string) { r.add(check, Failed, found, wayOut) }

// Unknown adds a check without an answer.
func (r *Report) Unknown(check, found, wayOut string) { r.add(check, Unknown, found, wayOut) }

func (r *Report) add(check string, result Result, found, wayOut string) {
	r.Lines = append(r.Lines, Line{check, result, found, wayOut})
}

// Count returns how many checks ended so.
func (r *Report) Count(result Result) (n int) {
	for _, l := range r.Lines {
		if l.Result == result {
			n++
		}
	}
	return n
}
