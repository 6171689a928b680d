package bounds

import (
	"reflect"
	"testing"
)

// Every limit has a default. A limit that is set keeps its value.
func TestEveryLimitHasADefault(t *testing.T) {
	all := reflect.ValueOf(Limits{}.WithDefaults())
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		if all.Field(i).IsZero() {
			t.Errorf("%s has no default", name)
		}
		var own Limits
		field := reflect.ValueOf(&own).Elem().Field(i)
		switch field.Kind() {
		case reflect.Float64:
			field.SetFloat(3)
		default:
			field.SetInt(3)
		}
		if got := reflect.ValueOf(own.WithDefaults()).Field(i); !got.Equal(field) {
			t.Errorf("%s of 3 becomes %v", name, got)
		}
	}
}
