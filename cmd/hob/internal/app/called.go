package app

import (
	"slices"

	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// contactAliases returns the other names, addresses and numbers of a person known by name or
// relation: "Ana", "my sister" or only "sister". Other people's texts do not count, because an
// unknown sender could use them to pose as that person.
func (d *App) contactAliases(q store.Querier, name string) (out []string) {
	for _, name := range []string{name, "my " + name} {
		some, err := d.goesBy(q, name)
		if err != nil {
			d.opt.Log.Warn("unknown person", "err", err)
			return nil
		}
		out = append(out, some...)
	}
	return out
}

func (d *App) goesBy(q store.Querier, name string) (out []string, _ error) {
	list, err := d.graph.Named(q, []string{""}, name)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range list {
		if !e.Provenance.Tainted() {
			ids = append(ids, e.ID)
		}
	}
	own, err := d.graph.TrustedNames(q, ids...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if names := own[id]; slices.ContainsFunc(names, func(n string) bool { return textnorm.EqualFolded(n, name) }) {
			out = append(out, names...)
		}
	}
	return out, nil
}
