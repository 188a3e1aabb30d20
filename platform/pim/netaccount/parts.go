package netaccount

import (
	"context"
	"fmt"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/text/mime"
)

// Limits of a message whose parts are read.
const (
	maxRawMail = 64 << 20
	rawChunk   = 4 << 20
	maxParts   = 200
)

// ReadParts implements pim.PartReader.
func (m *Mail) ReadParts(ctx context.Context, ref string, limit int64, want func(pim.MailPart) bool) (out []pim.MailPart, err error) {
	p, err := m.parseRef(ref)
	if err != nil {
		return nil, err
	}
	err = m.withConn(ctx, func(c *imapmail.Conn) error {
		x, err := m.openMailAt(ctx, c, p, false)
		if err != nil {
			return err
		}
		if x.Size > maxRawMail {
			return fmt.Errorf("%w: the email has %d MB; at most %d MB can be read", pim.ErrTooLarge, x.Size>>20, maxRawMail>>20)
		}
		raw, err := readRawMail(ctx, c, p.UID)
		if err != nil {
			return err
		}
		out, err = selectParts(raw, limit, want)
		return err
	})
	return out, err
}

// readRawMail reads a whole message.
func readRawMail(ctx context.Context, c *imapmail.Conn, uid uint32) (raw []byte, err error) {
	for len(raw) < maxRawMail {
		_, chunk, ok, err := c.Raw(ctx, uid, int64(len(raw)), rawChunk)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%w: the message was removed in the meantime", pim.ErrNotFound)
		}
		raw = append(raw, chunk...)
		if len(chunk) < rawChunk {
			return raw, nil
		}
	}
	return raw, nil
}

// selectParts decodes the wanted parts of a message.
func selectParts(raw []byte, limit int64, want func(pim.MailPart) bool) (out []pim.MailPart, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("read the parts of a message: %w: parser panic: %v", pim.ErrRefused, p)
		}
	}()
	for _, p := range mime.Parse(raw, mime.Limits{Parts: maxParts}).Parts {
		part := pim.MailPart{Name: pim.SanitizeLine(p.Name, 200), Kind: p.Kind, Method: pim.SanitizeLine(p.Params["method"], 40), Attached: p.Attached()}
		if !want(part) {
			continue
		}
		part.Data = p.Bytes(limit + 1)
		if part.Kind == "text/html" && !part.Attached {
			part.Data = []byte(p.Text(limit + 1))
		}
		if int64(len(part.Data)) > limit {
			return nil, fmt.Errorf("%w: %s is larger than %d MB; save it with a mail program", pim.ErrTooLarge, part.Name, limit>>20)
		}
		out = append(out, part)
	}
	return out, nil
}
