package channelstest

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/platform/text/settings"
)

var keyForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Described checks the description of a driver: setup must ask for exactly the keys of the section.
func Described(t *testing.T, d channels.Driver) {
	t.Helper()
	about := d.Describe()
	if !keyForm.MatchString(about.Name) || about.Title == "" {
		t.Errorf("name %q, title %q: both are required", about.Name, about.Title)
	}
	var described []string
	asked := false
	for _, s := range about.Settings {
		described = append(described, s.Key)
		asked = asked || !s.Unasked
		checkSetting(t, s)
	}
	if lines := strings.Split(about.Intro, "\n"); asked && len(lines) != 2 {
		t.Errorf("the intro has %d lines, want 2", len(lines))
	}
	slices.Sort(described)
	if keys := sectionKeys(d); !slices.Equal(keys, described) {
		t.Errorf("the settings are %q, but the section has the keys %q", described, keys)
	}
}

func checkSetting(t *testing.T, s settings.Setting) {
	t.Helper()
	if !keyForm.MatchString(s.Key) || s.Title == "" || s.Kind == "" {
		t.Errorf("%+v: key, title and kind are required", s)
	}
	if (s.Kind == settings.Choice) != (s.Options != nil) {
		t.Errorf("%s: a choice must have options, and other settings must have none", s.Key)
	}
	if s.Default != "" && s.Check != nil {
		if err := s.Check(s.Default); err != nil {
			t.Errorf("%s: the default is not valid: %v", s.Key, err)
		}
	}
}

// sectionKeys returns the sorted keys of the struct into which the driver decodes its section.
func sectionKeys(d channels.Driver) (out []string) {
	_, _ = d.New(func(v any) error {
		for f := range reflect.TypeOf(v).Elem().Fields() {
			if key, _, _ := strings.Cut(f.Tag.Get("toml"), ","); key != "" {
				out = append(out, key)
			}
		}
		return errors.New("only the keys are needed")
	}, channels.Deps{})
	slices.Sort(out)
	return out
}
