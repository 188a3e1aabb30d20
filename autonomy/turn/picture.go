package turn

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"strings"

	"hob/autonomy/llm"
)

// maxPicture bounds a picture that is kept, in bytes.
const maxPicture = 20 << 20

//go:embed text/refused.md
var refused string

// answerTextMiddleware returns the middleware that adds text to an answer without words: a refusal, or
// pictures, which are saved as files.
func (r *turnRun) answerTextMiddleware() middleware {
	return middleware{name: "say", afterModel: func(_ context.Context, q *modelCall) {
		r.keepPictures(&q.resp)
		if q.resp.Stop == llm.Refused && len(q.resp.Calls()) == 0 && strings.TrimSpace(q.resp.Text()) == "" {
			q.resp.Parts = []llm.Part{{Text: strings.TrimSpace(refused)}}
		}
	}}
}

// keepPictures saves each picture to a file and adds its path. The names are the same after a
// crash.
func (r *turnRun) keepPictures(resp *llm.Response) {
	if len(resp.Images()) == 0 {
		return
	}
	var out []llm.Part
	for i, p := range resp.Parts {
		if p.Image == nil {
			out = append(out, p)
			continue
		}
		where, err := r.keepPicture(i, p.Image)
		if err != nil {
			r.o.Log.Warn("a picture was not kept", "event", r.t.Event.ID, "err", err)
			out = append(out, llm.Part{Text: fmt.Sprintf("\n[a picture that could not be kept: %v]\n", err)})
			continue
		}
		out = append(out, p, llm.Part{Text: "\n[picture: " + where + "]\n"})
	}
	resp.Parts = out
}

// keepPicture trusts the bytes, not the declared type.
func (r *turnRun) keepPicture(n int, i *llm.Image) (string, error) {
	ext := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}[http.DetectContentType(i.Data)]
	switch {
	case ext == "":
		return "", fmt.Errorf("it is neither PNG, JPEG, WebP nor GIF")
	case len(i.Data) > maxPicture:
		return "", fmt.Errorf("it is larger than %d MB", maxPicture>>20)
	case r.o.Keep == nil:
		return "", fmt.Errorf("storage for pictures is not configured")
	}
	return r.o.Keep(fmt.Sprintf("%s-%d-%d%s", lastIDChars(r.t.Event.ID, 12), len(r.msgs)-r.own, n, ext), i.Data)
}
