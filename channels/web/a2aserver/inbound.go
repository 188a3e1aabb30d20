package a2aserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"hob/channels"
	"hob/platform/text/lazyregexp"
)

// Limits of a message.
const (
	maxText   = 256 << 10 // bytes of text and data
	maxParts  = 50
	maxImages = 4
	maxID     = 200 // characters of an id that the client chose
)

var validContext = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)

// newInbound converts a message of a client into a message of the guest "a2a:NAME". The key
// contains the id, so that a later client of the same name gets no task of an earlier client.
// Metadata and text in other fields of the message are ignored. Files are only accepted as images
// in the message: Hob fetches no address that a client chose.
func newInbound(c caller, r *a2a.SendMessageRequest) (channels.Inbound, error) {
	in := channels.Inbound{Channel: Channel, Chat: c.name, Sender: c.name, SenderName: Channel + ":" + c.name}
	m := r.Message
	switch {
	case m == nil:
		return in, invalidParams("the message is missing")
	case m.ID == "" || len(m.ID) > maxID || !utf8.ValidString(m.ID):
		return in, invalidParams("messageId must have 1 to %d characters", maxID)
	case m.Role != a2a.MessageRoleUser:
		return in, invalidParams("role must be ROLE_USER")
	case len(m.Parts) == 0 || len(m.Parts) > maxParts:
		return in, invalidParams("parts must contain 1 to %d parts", maxParts)
	case m.ContextID != "" && !validContext.MatchString(m.ContextID):
		return in, invalidParams("contextId must have 1 to 64 letters, digits, dots, underscores and hyphens")
	case r.Config != nil && r.Config.HistoryLength != nil && *r.Config.HistoryLength < 0:
		return in, invalidParams("historyLength must not be negative")
	}
	in.Key = c.id + "\x1f" + m.ID
	var texts []string
	n := 0
	for _, p := range m.Parts {
		text, img, err := partContent(p)
		if err != nil {
			return in, err
		}
		if img != nil {
			in.Images = append(in.Images, *img)
			continue
		}
		n += len(text)
		texts = append(texts, text)
	}
	in.Text = strings.TrimSpace(strings.Join(texts, "\n"))
	switch {
	case n > maxText:
		return in, invalidParams("the text is larger than %d KB", maxText>>10)
	case len(in.Images) > maxImages:
		return in, invalidParams("a message may contain at most %d images", maxImages)
	case in.Text == "" && len(in.Images) == 0:
		return in, invalidParams("the message is empty")
	}
	return in, nil
}

func invalidParams(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// partContent returns the text or the image of a part.
func partContent(p *a2a.Part) (string, *channels.Image, error) {
	if p == nil {
		return "", nil, invalidParams("a part is empty")
	}
	switch c := p.Content.(type) {
	case a2a.Text:
		return string(c), nil, nil
	case a2a.Data:
		b, err := json.Marshal(c.Value)
		if err != nil {
			return "", nil, invalidParams("a data part is not JSON")
		}
		return string(b), nil, nil
	case a2a.Raw:
		kind := http.DetectContentType(c)
		if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
			return "", nil, a2a.NewError(a2a.ErrUnsupportedContentType, "only PNG, JPEG, GIF and WebP images are accepted; send other files as text")
		}
		return "", &channels.Image{MIME: kind, Data: c}, nil
	}
	return "", nil, a2a.NewError(a2a.ErrUnsupportedContentType, "addresses of files are not fetched; send text, data or an image")
}

// storedMessage returns the part of a message that is shown in the history of a task: its texts and
// data. It omits images, which the inbox stores, and fields that Hob ignores.
func storedMessage(m *a2a.Message) *a2a.Message {
	out := &a2a.Message{ID: m.ID, Role: m.Role}
	for _, p := range m.Parts {
		switch c := p.Content.(type) {
		case a2a.Text:
			out.Parts = append(out.Parts, a2a.NewTextPart(string(c)))
		case a2a.Data:
			out.Parts = append(out.Parts, a2a.NewDataPart(c.Value))
		default:
			out.Parts = append(out.Parts, a2a.NewTextPart("(image)"))
		}
	}
	return out
}
