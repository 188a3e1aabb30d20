package browser

import (
	"context"
	"errors"
	"time"
)

// maxPDF is the maximum size of a printed document, in bytes.
const maxPDF = 12 << 20

// PrintPDF renders an HTML document in a new tab, which no page can reach, and returns it as PDF in
// A4. The document should contain no scripts and no addresses that are loaded. Only a headless
// browser can print.
func (b *Browser) PrintPDF(ctx context.Context, document string) ([]byte, error) {
	p, done, err := b.acquireProcess(ctx, true)
	if err != nil {
		return nil, err
	}
	defer done()
	t, err := b.newBlankTab(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.limits.answer)
		defer cancel()
		_ = p.conn.callCommand(end, "", "Target.closeTarget", jsonObject{"targetId": t.target}, nil) // if this fails, a tab with the document remains
		b.forgetTab(t.target, "")
	}()
	step, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var tree struct {
		FrameTree struct {
			Frame struct {
				ID string `json:"id"`
			} `json:"frame"`
		} `json:"frameTree"`
	}
	if err := t.callCommand(step, "Page.getFrameTree", nil, &tree); err != nil {
		return nil, b.protocolError(err)
	}
	if err := t.callCommand(step, "Page.setDocumentContent", jsonObject{"frameId": tree.FrameTree.Frame.ID, "html": document}, nil); err != nil {
		return nil, b.protocolError(err)
	}
	var pdf struct{ Data []byte }
	err = t.callCommand(step, "Page.printToPDF", jsonObject{"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true}, &pdf)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errTooLarge), err == nil && len(pdf.Data) > maxPDF:
		return nil, &Error{Kind: TooMany, Message: "the PDF is too large"}
	case err != nil:
		return nil, b.protocolError(err)
	}
	return pdf.Data, nil
}
