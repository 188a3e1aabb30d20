package files

import (
	"context"

	"hob/platform/store/erase"
)

// Eraser deletes saved earlier contents that contain a phrase, because a redacted copy
// could not be restored as it was. Marks of untrusted files stay, unless the path itself is
// forgotten; the files belong to the owner and stay unchanged.
func (f *Files) Eraser() erase.Eraser {
	return erase.Owned{
		List: []erase.Table{
			{Name: "outside_paths", Key: []string{"path"}, Names: []string{"path"}, Text: []string{"list"}},
			{Name: "outside_contents", Key: []string{"digest"}, Text: []string{"list"}},
			{Name: "outside_trees", Key: []string{"path", "id"}, Names: []string{"path"}, Text: []string{"list"}},
			{Name: "vouched_contents", Key: []string{"digest"}},
		},
		Files: func(ctx context.Context, _ *erase.Erasure, s *erase.Scrubber) (erase.Erased, error) {
			if f.undo.dir == "" {
				return erase.Erased{}, nil
			}
			return erase.RemoveFiles(ctx, f.undo.dir, s)
		},
	}
}
