package clipboard

import (
	"context"
	"os/exec"
	"strings"

	"hob/platform/host/osrun"
)

func newBackend(o Options) backend { return osClipboard{o} }

type osClipboard struct{ opt Options }

func (osClipboard) close() {}

// readClipboard queries the pasteboard directly, because the pasteboard contains the marks of
// password managers.
func (d osClipboard) readClipboard(ctx context.Context) (Content, error) {
	return readPasteboard(ctx, d.opt.Scripts, d.opt)
}

// writeText uses the library with a locale set. Without a locale, as under launchd, pbcopy would
// interpret the text as MacRoman.
func (d osClipboard) writeText(ctx context.Context, text string) error {
	if utf8Locale(d.opt.Getenv) {
		return libraryWrite(ctx, text)
	}
	cmd := exec.Command("/usr/bin/pbcopy") //nolint:noctx // Output ends the whole process tree
	cmd.Env = d.pasteboardEnv()
	_, err := osrun.Output(ctx, cmd, []byte(text))
	return markBusy(ctx, err)
}

func (d osClipboard) pasteboardEnv() []string {
	return []string{"LANG=en_US.UTF-8", "LC_ALL=en_US.UTF-8", "HOME=" + d.opt.Getenv("HOME")}
}

func utf8Locale(getenv func(string) string) bool {
	for _, k := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(k); v != "" {
			return strings.HasSuffix(strings.ToUpper(v), "UTF-8")
		}
	}
	return false
}
