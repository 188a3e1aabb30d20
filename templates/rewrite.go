package templates

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// RewriteConfig applies an edit to all saved copies of the configuration, for example to replace a
// secret with a reference.
func (h *Installation) RewriteConfig(edit func(text []byte) ([]byte, error)) error {
	s, err := h.State()
	if err != nil {
		return err
	}
	changed := false
	for _, p := range []**string{&s.Config.Before, &s.Config.After} {
		if *p == nil {
			continue
		}
		out, err := edit([]byte(**p))
		if err != nil {
			return err
		}
		if string(out) != **p {
			now := string(out)
			*p, changed = &now, true
		}
	}
	if changed {
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := h.opt.Write(h.statePath(), b); err != nil {
			return err
		}
	}
	kept, err := filepath.Glob(filepath.Join(h.opt.Dir, "kept", "*-config.toml"))
	if err != nil {
		return err
	}
	for _, path := range kept {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out, err := edit(b)
		if err != nil {
			return err
		}
		if err := h.opt.Write(path, out); err != nil {
			return err
		}
	}
	return nil
}
