package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"hob/tools"
)

// undoWrite restores the earlier content. Later edits survive: the content must be the
// written one, both when it is read and right before it is replaced. The replaced content
// is saved for a redo.
func (f *Files) undoWrite(ctx context.Context, data json.RawMessage) (string, error) {
	u, s, err := f.written(data)
	if err != nil {
		return "", err
	}
	defer f.mu.Unlock()
	defer s.Close()
	now, err := f.stillIs(s, u.After)
	if err != nil {
		return "", err
	}
	if _, err := f.undo.put(now); err != nil && !errors.Is(err, errNotKept) {
		return "", tools.Errorf(tools.Failed, "cannot save the current content of %s, so nothing was undone: %w", s.label(), err)
	}
	dir, _, err := s.parent(false)
	if err != nil {
		return "", f.trouble("open the folder of", s, err)
	}
	defer func() { _ = dir.Close() }()
	_, name := s.dirName()
	if u.Created {
		if err := s.same(dir, name); err != nil {
			return "", err
		}
		if err := dir.Remove(name); err != nil {
			return "", f.trouble("remove", s, err)
		}
		s.unmake(u.Made)
		if err := f.marks.settle(ctx, s.abs, nil); err != nil {
			return "", err
		}
		return "Deleted " + s.shown() + ".", nil
	}
	if err := f.putBack(ctx, s, dir, name, u.Before, u.Mode); err != nil {
		return "", err
	}
	return "Restored the earlier content of " + s.shown() + ".", nil
}

// redoWrite repeats a write that undoWrite reverted.
func (f *Files) redoWrite(ctx context.Context, data json.RawMessage) (string, json.RawMessage, error) {
	u, s, err := f.written(data)
	if err != nil {
		return "", nil, err
	}
	defer f.mu.Unlock()
	defer s.Close()
	if u.Created {
		if s.info != nil {
			return "", nil, tools.Errorf(tools.Conflict, "%s now holds another file; redo would overwrite it", s.label())
		}
	} else if _, err := f.stillIs(s, u.Before); err != nil {
		return "", nil, err
	}
	dir, made, err := s.parent(true)
	if err != nil {
		return "", nil, f.trouble("open the folder of", s, err)
	}
	defer func() { _ = dir.Close() }()
	_, name := s.dirName()
	if err := f.putBack(ctx, s, dir, name, u.After, u.Mode); err != nil {
		s.unmake(made)
		return "", nil, err
	}
	u.Made = made
	data, err = json.Marshal(u)
	return "Wrote " + s.shown() + " again.", data, err
}

// written decodes an undo record and finds its file. The caller closes the spot and unlocks
// f.mu, unless there is an error.
func (f *Files) written(data json.RawMessage) (u writeUndo, s *spot, err error) {
	if err := json.Unmarshal(data, &u); err != nil {
		return u, nil, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	f.mu.Lock()
	if s, err = f.at(u.Path); err != nil {
		f.mu.Unlock()
		return u, nil, err
	}
	return u, s, nil
}

// stillIs reads the file if its content has the digest.
func (f *Files) stillIs(s *spot, sum string) ([]byte, error) {
	now, err := s.read(f.opt.MaxFile)
	if errors.Is(err, errTooLarge) {
		return nil, changedSince(s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, f.trouble("read", s, err)
	}
	if err != nil || digest(now) != sum {
		return nil, changedSince(s)
	}
	return now, nil
}

func changedSince(s *spot) error {
	return tools.Errorf(tools.Conflict, "%s has changed; undo would overwrite the change", s.label())
}

// same reports an error if the file has changed since it was inspected.
func (s *spot) same(dir *os.Root, name string) error {
	now, err := dir.Lstat(name)
	if s.info == nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return changedSince(s)
	}
	if err != nil || !os.SameFile(now, s.info) || now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()) {
		return changedSince(s)
	}
	return nil
}

// putBack writes a saved content to the file.
func (f *Files) putBack(ctx context.Context, s *spot, dir *os.Root, name, sum string, mode *fs.FileMode) error {
	old, err := f.undo.get(sum)
	if err != nil {
		return tools.Errorf(tools.NotFound, "the earlier content of %s is no longer available: %w", s.label(), err)
	}
	if err := s.same(dir, name); err != nil {
		return err
	}
	_, outside, err := f.marks.copyOf(ctx, old)
	if err == nil && outside { // before it is there
		err = f.marks.settle(ctx, s.abs, old)
	}
	if err != nil {
		return err
	}
	if err := replace(dir, name, old, mode); err != nil {
		return f.trouble("write", s, err)
	}
	return f.marks.settle(ctx, s.abs, old)
}
