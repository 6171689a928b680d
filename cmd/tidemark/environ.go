package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
)

// secretVariables have no flag, because their values must not be on a command line.
var secretVariables = []string{"TIDEMARK_KAFKA_PASSWORD", "TIDEMARK_TOKEN"}

// environ returns the environment. Tests replace it, because their own variables also begin with
// TIDEMARK_.
var environ = os.Environ

// ofServices are variables that Kubernetes sets in each container for a Service whose name begins
// with tidemark.
var ofServices = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT_\d+_(TCP|UDP|SCTP)(_.*)?)=|_PORT=(tcp|udp|sctp)://`)

// ignored returns a line for each variable TIDEMARK_... that no verb reads, with the closest name
// of one that a verb reads.
func ignored(app *kong.Application, environ []string) (warnings []string) {
	known, flags := slices.Clone(secretVariables), map[string]string{}
	_ = kong.Visit(app, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok {
			known = append(known, f.Envs...)
			flags["TIDEMARK_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))] = f.Name
		}
		return next(nil)
	})
	slices.Sort(known)
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "TIDEMARK_") || slices.Contains(known, name) || ofServices.MatchString(v) {
			continue
		}
		warning := fmt.Sprintf("the environment variable %s is ignored: ", term.Printable(name))
		if flag, ok := flags[name]; ok {
			warning += fmt.Sprintf("--%s has to be on the command line", flag)
		} else {
			warning += "the nearest is " + verbs.Nearest(name, known)
		}
		warnings = append(warnings, warning)
	}
	return warnings
}
