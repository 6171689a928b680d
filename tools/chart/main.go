// Command chart judges and renders the Helm chart of deploy/helm with Helm's own packages: its
// linter, its check of the values' schema and its template engine. What it renders it decodes
// strictly into the types of Kubernetes' API and of the Prometheus operator, so that an unknown,
// misplaced or twice given field is an error. It is a module of its own, because the product needs
// none of it.
//
//	chart CHART VALUES...
//
// It prints the objects that CHART makes of the VALUES files, each of which wins over those before
// it.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// release and namespace are those of the manifests in deploy/kubernetes.
const (
	release   = "tidemark"
	namespace = "tidemark"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: chart CHART VALUES...")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out io.Writer, dir string, files []string) error {
	values := map[string]any{}
	for _, f := range files {
		v, err := common.ReadValuesFile(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		values = loader.MergeMaps(values, v)
	}
	manifests, err := render(dir, values)
	if err != nil {
		return err
	}
	if err := judged(dir, values); err != nil {
		return err
	}
	for _, m := range manifests {
		if err := decoded(m.text); err != nil {
			return fmt.Errorf("%s: %w\n%s", m.name, err, m.text)
		}
		fmt.Fprintf(out, "---\n%s\n", m.text)
	}
	return nil
}

// manifest is one object, in YAML.
type manifest struct{ name, text string }

// render returns the objects in an order that does not change: by template, and there as written.
func render(dir string, values map[string]any) (list []manifest, err error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	given, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err // the values are not as the schema says
	}
	texts, err := engine.Render(c, given)
	if err != nil {
		return nil, err
	}
	for name, text := range texts {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for part := range strings.SplitSeq("\n"+text, "\n---") {
			if len(bytes.TrimSpace(withoutComments(part))) > 0 {
				list = append(list, manifest{name, strings.TrimSpace(part)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b manifest) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}

func withoutComments(text string) (rest []byte) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			rest = append(rest, line...)
		}
	}
	return rest
}

// judged returns what `helm lint --strict` would refuse.
func judged(dir string, values map[string]any) error {
	var errs []error
	for _, m := range lint.RunAll(dir, values, namespace).Messages {
		if m.Severity >= support.WarningSev {
			errs = append(errs, m)
		}
	}
	return errors.Join(errs...)
}

var codecs = func() serializer.CodecFactory {
	if err := monitoring.AddToScheme(scheme.Scheme); err != nil {
		panic(err) // the two libraries do not fit
	}
	return serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
}()

// decoded returns why a text is no object of an API.
func decoded(text string) error {
	o, _, err := codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		return err
	}
	return named(o)
}

// named returns why an object would land where nobody looks for it.
func named(o runtime.Object) error {
	m, ok := o.(metav1.Object)
	if !ok || m.GetName() == "" || m.GetNamespace() != namespace {
		return errors.New("it has no name, or is of another namespace than the release")
	}
	return nil
}
