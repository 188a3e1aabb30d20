package ocr

func newBackend(o Options) backend { return scriptReader{o.Scripts, winScript()} }
