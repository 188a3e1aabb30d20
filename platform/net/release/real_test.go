package release

// Created by minisign 0.11; the secret key was deleted.
const (
	realKey       = "RWTxhosjYXGzfN35tpDibqfVBgX2nbCdA7Kblh0HTSI0eORdRm3RoW+Q"
	realManifest  = `{"program":"hob","version":"v1.4.0","released":"2026-06-20T10:00:00Z","expires":"2026-12-20T10:00:00Z","files":[]}`
	realSignature = `untrusted comment: signature from minisign secret key
RUTxhosjYXGzfBUYMuDK5OrexsdmetlfI9mwsRbr5dQSDsIUCGg1eCRCzyXmF8B5PGOiq+n4hFRYQ5R709aM80YZcPd2Eu49KgY=
trusted comment: hob v1.4.0
x0ba+iZfkVJPG9KtrmjulAVBA4hb+bgwf5Tkzq21ILnE1M+8aDCGmNpHqA4yBTIbDyOR/JIJXTSCOh7oJq7ZBQ==
`
)
