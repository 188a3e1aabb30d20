package prompt

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

// OwnTexts holds the contents of the files that the user writes. Changed files are reloaded. If a
// file becomes unreadable, its previous content stays in effect. The methods may be called
// concurrently.
type OwnTexts struct {
	paths [3]string // paths of SOUL.md, USER.md and MEMORY.md
	log   *slog.Logger

	mu    sync.Mutex
	seen  [3]fileStamp
	texts [3]string
}

// OpenOwnTexts reads the files soul, user and memory. Missing files count as empty.
func OpenOwnTexts(soul, user, memory string, log *slog.Logger) (*OwnTexts, error) {
	o := &OwnTexts{paths: [3]string{soul, user, memory}, log: log}
	for i, path := range o.paths {
		var err error
		o.seen[i] = stampOf(path)
		if o.texts[i], err = ReadOptional(path); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Current returns the current contents of the files.
func (o *OwnTexts) Current() Texts {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, path := range o.paths {
		s := stampOf(path)
		if s == o.seen[i] {
			continue
		}
		o.seen[i] = s
		text, err := ReadOptional(path)
		if err != nil {
			o.log.Warn("edited file is invalid; keeping its previous text", "err", err)
			continue
		}
		o.texts[i] = text
	}
	return Texts{Soul: o.texts[0], User: o.texts[1], Memory: o.texts[2]}
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

// maxOwnText limits SOUL.md, USER.md and MEMORY.md, in bytes, because each request contains them.
const maxOwnText = 100_000

// ReadOptional reads a file that the user may have written. It returns "" if the file does not
// exist, and an error if the file is larger than 100 KB or not UTF-8.
func ReadOptional(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%w; make the file readable, or move it elsewhere", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOwnText+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; make the file readable, or move it elsewhere", err)
	case len(b) > maxOwnText:
		return "", fmt.Errorf("%s is larger than %d KB; shorten it, because the model reads it with every message", path, maxOwnText/1000)
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s is not valid UTF-8; save it as UTF-8", path)
	}
	return string(b), nil
}
