package operate

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Scrape reads the metrics of a node as Prometheus does, and returns them by name.
func Scrape(ctx context.Context, url string) (map[string]*dto.MetricFamily, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/metrics: %s", url, res.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(string(body)))
}

// labels returns the names of a family's labels.
func labels(f *dto.MetricFamily) []string {
	names := map[string]bool{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			names[l.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// samples returns the series of a family as Prometheus stores them: value by name and labels, such
// as name{a="1",b="2"}. The series of a histogram are its buckets, its count and its sum.
func samples(f *dto.MetricFamily) map[string]float64 {
	all := map[string]float64{}
	for _, m := range f.Metric {
		var pairs []string
		for _, l := range m.Label {
			pairs = append(pairs, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		slices.Sort(pairs)
		set := "{" + strings.Join(pairs, ",") + "}"
		switch {
		case m.Counter != nil:
			all[f.GetName()+set] = m.Counter.GetValue()
		case m.Gauge != nil:
			all[f.GetName()+set] = m.Gauge.GetValue()
		case m.Histogram != nil:
			all[f.GetName()+"_count"+set] = float64(m.Histogram.GetSampleCount())
			all[f.GetName()+"_sum"+set] = m.Histogram.GetSampleSum()
			for _, b := range m.Histogram.Bucket {
				le := fmt.Sprintf("le=%q", strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
				of := slices.Sorted(slices.Values(append(slices.Clone(pairs), le)))
				all[f.GetName()+"_bucket{"+strings.Join(of, ",")+"}"] = float64(b.GetCumulativeCount())
			}
		}
	}
	return all
}
