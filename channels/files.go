package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Files stores and reads the files of messages.
type Files struct {
	// Keep stores a file under a similar name and returns its path. It never overwrites an existing
	// file. If Keep is nil, files are not stored, and the message says so.
	Keep func(ctx context.Context, name string, data []byte) (path string, err error)
	// Read returns the text in a file, or an error if it has none. It is optional.
	Read func(ctx context.Context, name string, data []byte) (string, error)
}

// Limits per message.
const (
	maxFiles      = 10
	maxFile       = 20 << 20
	maxFilesTotal = 40 << 20
	maxGuestHour  = 100 << 20 // bytes per guest and hour
	maxPicture    = 3_750_000 // maximum bytes of one picture: model providers allow 5 MB in base64
	maxPictures   = 12 << 20  // maximum bytes of all pictures in a message
	fetchTimeout  = 90 * time.Second
	guestTimeout  = 20 * time.Second // for guests, because messages from the owner may wait for the download
	readTimeout   = 20 * time.Second
	// textOfFile is the maximum number of bytes of a file's text in the message. A tool reads the
	// rest.
	textOfFile = 6000
)

// filesOnly is the text of a message that contains only files.
const filesOnly = "[files]"

// checkDuplicate checks whether a message with files was already accepted or will be rejected.
func (g *inboundFilter) checkDuplicate(ctx context.Context, in Inbound) (Accepted, bool, error) {
	k, ok := g.to.(DuplicateChecker)
	if !ok || len(in.Files) == 0 {
		return Accepted{}, false, nil
	}
	acc, yes, err := k.Known(ctx, in)
	if err != nil {
		return acc, false, fmt.Errorf("channels: %s: accept a message: %w", g.name, err)
	}
	acc.Repeated = yes
	return acc, yes, nil
}

// fetchFiles downloads the files of a message before the message is accepted. Pictures that a model
// can see become images; other files are stored. Notes about files are untrusted text, like the
// names and contents of the files.
func (g *inboundFilter) fetchFiles(ctx context.Context, in *Inbound) error {
	files := in.Files
	in.Files = nil
	if len(files) == 0 {
		return nil
	}
	f := fileFetch{inboundFilter: g, in: in}
	limit := guestTimeout
	if in.FromOwner {
		limit = fetchTimeout
	}
	c, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for i, file := range files {
		if i == maxFiles {
			f.addNote("[%d more files were not fetched: a message may contain at most %d]", len(files)-maxFiles, maxFiles)
			break
		}
		f.fetchFile(c, file)
		if ctx.Err() != nil { // Hob is stopping: the platform delivers the message again
			return fmt.Errorf("channels: %s: fetch the files of a message: %w", g.name, ctx.Err())
		}
	}
	if strings.TrimSpace(in.Text) == "" {
		in.Text = ""
		if len(in.Images) == 0 || len(f.notes) > 0 {
			in.Text = filesOnly
		}
	}
	in.Outside = append(slices.Clip(in.Outside), f.notes...)
	return nil
}

// fileFetch holds the state of one message's downloads.
type fileFetch struct {
	*inboundFilter
	in              *Inbound
	total, pictures int
	notes           []string
}

func (f *fileFetch) addNote(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func (f *fileFetch) fetchFile(ctx context.Context, file File) {
	name := FileName(file.Name)
	if file.Size > maxFile {
		f.addNote("[file %s, %s, was not fetched: larger than %s]", name, formatSize(file.Size), formatSize(maxFile))
		return
	}
	if f.total+int(max(file.Size, 0)) > maxFilesTotal {
		f.addNote("[file %s was not fetched: the files of the message are together larger than %s]", name, formatSize(maxFilesTotal))
		return
	}
	if !f.in.FromOwner && !f.brought.hasRoom(f.in.Sender, max(file.Size, 0), time.Now()) {
		f.addNote("[file %s was not fetched: files from each person other than the user are limited to %s per hour]", name, formatSize(maxGuestHour))
		return
	}
	data, err := f.readFile(ctx, file)
	if !f.in.FromOwner {
		f.brought.addBytes(f.in.Sender, int64(len(data)), time.Now())
	}
	switch {
	case errors.Is(err, errLarge):
		f.addNote("[file %s was not fetched: larger than %s]", name, formatSize(maxFile))
		return
	case err != nil:
		f.log.Warn("fetching a file of a message failed", "channel", f.name, "error", err)
		f.addNote("[file %s could not be fetched]", name)
		return
	case f.total+len(data) > maxFilesTotal:
		f.addNote("[file %s was not fetched: the files of the message are together larger than %s]", name, formatSize(maxFilesTotal))
		return
	}
	f.total += len(data)
	if mime := pictureType(data); mime != "" && len(data) <= maxPicture && f.pictures+len(data) <= maxPictures {
		f.pictures += len(data)
		f.in.Images = append(slices.Clip(f.in.Images), Image{MIME: mime, Data: data})
		return
	}
	f.keepFile(ctx, name, data)
}

// guestUploads counts the bytes that each guest sent in the last hour.
type guestUploads struct {
	mu sync.Mutex
	by map[string][]timedBytes
}

type timedBytes struct {
	at    time.Time
	bytes int64
}

// hasRoom reports whether a file fits within the sender's hourly limit.
func (b *guestUploads) hasRoom(sender string, bytes int64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.by[sender] {
		if now.Sub(l.at) < time.Hour {
			bytes += l.bytes
		}
	}
	return bytes < maxGuestHour
}

func (b *guestUploads) addBytes(sender string, bytes int64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil {
		b.by = map[string][]timedBytes{}
	}
	for who, all := range b.by { // remove old entries
		if all = slices.DeleteFunc(all, func(l timedBytes) bool { return now.Sub(l.at) >= time.Hour }); len(all) == 0 {
			delete(b.by, who)
		} else {
			b.by[who] = all
		}
	}
	b.by[sender] = append(b.by[sender], timedBytes{now, bytes})
}

var errLarge = errors.New("the file is too large")

// readFile downloads a file up to the size limit.
func (f *fileFetch) readFile(ctx context.Context, file File) (data []byte, err error) {
	if file.Open == nil {
		return nil, errors.New("the channel cannot fetch files")
	}
	err = recoverPanic(func() error {
		r, err := file.Open(ctx)
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = r.Close() })
		defer stop()
		data, err = io.ReadAll(io.LimitReader(r, maxFile+1))
		return errors.Join(err, r.Close())
	})
	if err == nil && len(data) > maxFile {
		return nil, errLarge
	}
	return data, err
}

// keepFile stores a file for the owner.
func (f *fileFetch) keepFile(ctx context.Context, name string, data []byte) {
	if f.files.Keep == nil {
		f.addNote("[file %s, %s, was not saved: no folder for files is configured]", name, formatSize(int64(len(data))))
		return
	}
	at, err := f.files.Keep(ctx, name, data)
	if err != nil {
		f.log.Warn("storing a file of a message failed", "channel", f.name, "error", err)
		f.addNote("[file %s, %s, could not be saved]", name, formatSize(int64(len(data))))
		return
	}
	note := fmt.Sprintf("[file %s, %s, saved as %s]", name, formatSize(int64(len(data))), at)
	if text := f.extractText(ctx, name, data); text != "" {
		note += "\n" + text
	}
	f.addNote("%s", note)
}

// extractText returns the beginning of a file's readable text.
func (f *fileFetch) extractText(ctx context.Context, name string, data []byte) string {
	if f.files.Read == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	text, err := f.files.Read(ctx, name, data)
	if err != nil {
		return ""
	}
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= textOfFile {
		return text
	}
	end := textOfFile
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimSpace(text[:end]) + "\n[only the beginning of the file is shown here]"
}

// pictureType returns the media type of a picture that models can see, or "" for other data. It
// detects the type from the content.
func pictureType(data []byte) string {
	switch t := http.DetectContentType(data); t {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return t
	}
	return ""
}

// formatSize formats a number of bytes for display.
func formatSize(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d kB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// longestName is the maximum length of a file name in bytes.
const longestName = 120

// FileName makes an untrusted file name safe on all systems. It removes folders, invisible
// characters and Windows device names, and changes suffixes that would run a program on a click. A
// name that was cut can end in such a suffix or in a dot, so the result is checked again.
func FileName(name string) string {
	for range 8 { // 3 passes are enough
		safe := safeFileName(name)
		if safe == name {
			break
		}
		name = safe
	}
	return name
}

func safeFileName(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`<>:"/\|?*[]`, r), unicode.IsSpace(r) && r != ' ':
			return '_'
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, name)
	name = strings.TrimRight(strings.TrimLeft(name, ". -~"), ". ")
	ext := path.Ext(name)
	stem := strings.TrimRight(strings.TrimSuffix(name, ext), ". ")
	if len(ext) > 16 {
		stem, ext = name, ""
	}
	for len(stem)+len(ext) > longestName {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-n]
	}
	if first, _, _ := strings.Cut(strings.ToLower(stem), "."); stem == "" || slices.Contains(reservedDeviceNames(), strings.TrimSpace(first)) {
		stem = "file " + stem
	}
	name = strings.TrimSpace(stem) + ext
	if slices.Contains(executableSuffixes(), strings.ToLower(strings.TrimPrefix(ext, "."))) {
		name += ".txt"
	}
	return name
}

// reservedDeviceNames returns the reserved device names of Windows ("Naming Files, Paths, and
// Namespaces").
func reservedDeviceNames() []string {
	out := []string{"con", "prn", "aux", "nul", "conin$", "conout$"}
	for _, n := range "123456789¹²³" {
		out = append(out, "com"+string(n), "lpt"+string(n))
	}
	return out
}

// executableSuffixes returns the suffixes of files that run when they are opened.
func executableSuffixes() []string {
	return []string{
		"app", "appimage", "applescript", "appref-ms", "bat", "chm", "cmd", "com", "command", "cpl", "desktop", "dll", "dmg", "exe", "gadget",
		"hta", "inf", "ins", "iso", "jar", "js", "jse", "lnk", "mpkg", "msc", "msh", "msi", "msp", "mst", "pif", "pkg", "ps1", "psm1", "py", "pyw", "reg",
		"run", "scf", "scpt", "scr", "sct", "settingcontent-ms", "sh", "shb", "shs", "terminal", "tool", "url", "vb", "vbe", "vbs", "vhd",
		"webloc", "workflow", "ws", "wsc", "wsf", "wsh", "xll",
	}
}
