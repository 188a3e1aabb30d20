package prompt

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"hob/platform/text/memoryfile"
)

// OwnTexts holds the contents of the files that the user writes, without Hob's list of facts. Changed files are reloaded. If a
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
		o.seen[i] = stampOf(path)
		text, err := memoryfile.Read(path)
		if err != nil {
			return nil, err
		}
		o.texts[i] = memoryfile.UserText(text)
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
		text, err := memoryfile.Read(path)
		if err != nil {
			o.log.Warn("edited file is invalid; keeping its previous text", "err", err)
			continue
		}
		o.texts[i] = memoryfile.UserText(text)
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
