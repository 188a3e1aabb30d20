package daemon

import (
	"hob/knowledge/store"
	"hob/platform/phrase"
)

// called gives the other names, addresses and numbers of somebody whom the owner
// names. What only others' texts say of him does not count: a stranger could make
// himself somebody by it.
func (d *Daemon) called(q store.Querier, name string) (out []string) {
	list, err := d.graph.Named(q, []string{""}, name)
	if err != nil {
		d.opt.Log.Warn("it is not known who is meant", "err", err)
		return nil
	}
	for _, e := range list {
		if e.Provenance.Tainted() {
			continue
		}
		names := append([]string{e.Name}, e.Aliases...)
		for _, n := range names {
			if phrase.Same(n, name) {
				out = append(out, names...)
				break
			}
		}
	}
	return out
}
