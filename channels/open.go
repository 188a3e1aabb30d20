package channels

import "fmt"

// Section returns a driver's part of the configuration: a strict decoder for [channels.NAME], and
// false if the section is missing or disabled.
type Section func(name string) (decode func(any) error, ok bool)

// Open creates the configured channels. failed holds the errors of channels that could not be
// created; other channels are not affected. deps returns the dependencies for the driver called
// name.
func Open(drivers []Driver, section Section, deps func(name string) Deps) (opened map[string]Channel, failed map[string]error) {
	opened, failed = map[string]Channel{}, map[string]error{}
	for _, d := range drivers {
		name := d.Describe().Name
		decode, ok := section(name)
		if !ok {
			continue
		}
		ch, err := d.New(decode, deps(name))
		if err != nil {
			failed[name] = fmt.Errorf("channels: %s: %w", name, err)
			continue
		}
		opened[name] = ch
	}
	return opened, failed
}
