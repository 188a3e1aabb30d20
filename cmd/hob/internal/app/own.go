package app

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"hob/autonomy/turn/prompt"
)

// ownTexts are the files that the user writes; they are reloaded when they change. If a file
// becomes unreadable, its previous text stays in effect.
type ownTexts struct {
	paths [3]string // SOUL.md, USER.md, MEMORY.md
	log   *slog.Logger

	mu    sync.Mutex
	seen  [3]fileStamp
	texts [3]string
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	size int64
	at   time.Time
}

func stampOf(path string) fileStamp {
	i, err := os.Stat(path)
	if err != nil {
		return fileStamp{size: -1}
	}
	return fileStamp{i.Size(), i.ModTime()}
}

// loadTexts reads them for the first time.
func (o *ownTexts) loadTexts() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, path := range o.paths {
		var err error
		o.seen[i] = stampOf(path)
		if o.texts[i], err = readOptional(path); err != nil {
			return err
		}
	}
	return nil
}

// currentTexts returns the current texts.
func (o *ownTexts) currentTexts() prompt.Texts {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, path := range o.paths {
		s := stampOf(path)
		if s == o.seen[i] {
			continue
		}
		o.seen[i] = s
		text, err := readOptional(path)
		if err != nil {
			o.log.Warn("edited file is invalid; keeping its previous text", "err", err)
			continue
		}
		o.texts[i] = text
	}
	return prompt.Texts{Soul: o.texts[0], User: o.texts[1], Memory: o.texts[2]}
}

// maxOwn bounds SOUL.md, USER.md and MEMORY.md, in bytes: they are part of
// every request.
const maxOwn = 100_000

// readOptional reads a text that the owner may have written.
func readOptional(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%w; make the file readable, or move it away", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOwn+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; make the file readable, or move it away", err)
	case len(b) > maxOwn:
		return "", fmt.Errorf("%s is larger than %d KB; shorten it, because the model reads it with every message", path, maxOwn/1000)
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s is not valid UTF-8; save it as UTF-8", path)
	}
	return string(b), nil
}
