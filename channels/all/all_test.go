package all_test

import (
	"slices"
	"testing"

	"hob/channels/all"
	"hob/channels/channelstest"
)

func TestDrivers(t *testing.T) {
	var names []string
	for _, d := range all.Drivers() {
		name := d.Describe().Name
		if slices.Contains(names, name) {
			t.Errorf("two drivers are named %s", name)
		}
		names = append(names, name)
		t.Run(name, func(t *testing.T) { channelstest.Described(t, d) })
	}
}
