"""The page's style sheet. No style stands anywhere else, so that the page's policy can name this
one by its hash.
"""

from rmqalloc.report.html._palette import HEAT_LIGHT, SERIES_LIGHT, variables

_CLASSES = "".join(
    [
        *(f".s{i}{{fill:var(--s{i});color:var(--s{i})}}" for i in range(len(SERIES_LIGHT))),
        ".rest{fill:var(--rest);color:var(--rest)}",
        *(f".h{i}{{fill:var(--h{i})}}.t{i}{{fill:var(--t{i})}}" for i in range(len(HEAT_LIGHT))),
    ]
)

_RULES = """
*{box-sizing:border-box}
[hidden]{display:none!important}
html{font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif}
body{margin:0;background:var(--page);color:var(--text)}
.skip{position:absolute;left:-999px;top:0;background:var(--card);color:var(--link);padding:.5rem 1rem;z-index:1}
.skip:focus{left:.5rem;top:.5rem}
header,main,footer,nav{max-width:78rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1.1rem}
header nav{padding:0}
h1{font-size:1.45rem;line-height:1.25;margin:0;letter-spacing:-.01em}
h2{font-size:1.15rem;margin:0 0 .25rem}
h3{font-size:1rem;margin:1.25rem 0 .35rem}
h4{font-size:.92rem;margin:1rem 0 .25rem;color:var(--soft);font-weight:600}
p{margin:.35rem 0}
a{color:var(--link)}
.soft,figcaption,caption,dt{color:var(--soft)}
.evidence{color:var(--soft);overflow-wrap:anywhere}
nav ul{list-style:none;margin:.5rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.1rem}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.85rem 1.25rem;margin:.85rem 0}
.head{display:flex;flex-wrap:wrap;align-items:baseline;gap:0 1.1rem}
.head p{margin:0}
footer{color:var(--soft);font-size:.85rem;padding-bottom:2rem}
code{font-family:ui-monospace,Menlo,Consolas,"Liberation Mono",monospace;font-size:.92em;overflow-wrap:anywhere}
bdi{unicode-bidi:isolate;overflow-wrap:anywhere}
td bdi,th bdi{overflow-wrap:break-word}
dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.1rem;margin:.8rem 0 0}
dl.facts dd{margin:0;min-width:0}
ul.plain{margin:.3rem 0;padding-left:1.1rem}
.sentence b{font-weight:650}
.good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}
.good,.warn,.bad{font-weight:600}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem;
margin:.4rem 0 .7rem;padding:0;list-style:none}
.tiles li{background:var(--band);border-radius:6px;padding:.4rem .75rem;min-width:0}
.tiles b{display:block;font-size:1.3rem;line-height:1.3;font-variant-numeric:tabular-nums;font-weight:650}
.found{list-style:none;margin:.3rem 0;padding:0}
.found li{padding:.3rem 0;border-top:1px solid var(--line)}
.found div{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
.tiles span{color:var(--soft);font-size:.85rem}
.filters{display:flex;flex-wrap:wrap;align-items:center;gap:.35rem 1.1rem;background:var(--band);border-radius:6px;
padding:.5rem .75rem;margin:.6rem 0}
.filters input[type=search]{font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:4px;
padding:.2rem .4rem;width:14rem;max-width:100%}
.filters input[type=checkbox]{width:1.15rem;height:1.15rem;margin:0 .35rem 0 0;vertical-align:-.2rem;accent-color:var(--link)}
.filters output{color:var(--soft)}
.alike{margin:.3rem 0;padding-left:1.1rem;font-weight:600}
.wide{overflow-x:auto;margin:.5rem 0}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:3px}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:0 0 .35rem}
th,td{padding:.26rem .4rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{background:var(--band);font-weight:600;vertical-align:bottom}
tbody tr:hover{background:var(--band)}
tbody th{font-weight:500;min-width:7rem}
th.n,td.n{text-align:right}
td.n{white-space:nowrap}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
th button::after{content:"↕";opacity:.5;padding-left:.15em;font-size:.8em}
th[aria-sort=ascending] button::after{content:"↑";opacity:1}
th[aria-sort=descending] button::after{content:"↓";opacity:1}
details{border-top:1px solid var(--line);margin-top:.6rem;padding-top:.5rem}
summary{cursor:pointer;font-weight:600}
summary h3{display:inline;margin:0 .5rem 0 0}
summary .soft{font-weight:400}
figure{margin:.4rem 0 1.1rem}
figcaption{font-size:.88rem;margin-bottom:.3rem}
svg{display:block;width:100%;min-width:44rem;max-width:64rem;height:auto;font-family:inherit}
svg text{font-size:11.5px;fill:var(--text);unicode-bidi:isolate}
svg .soft{fill:var(--soft)}
svg .end{text-anchor:end}svg .mid{text-anchor:middle}
svg .head{font-weight:600;fill:var(--soft)}
svg .axis{stroke:var(--line);stroke-width:1}
svg .node{fill:var(--soft)}
svg .flow{fill-opacity:.42}
svg .flow:hover{fill-opacity:.75}
svg .cell{stroke:var(--line);stroke-width:1}
svg text.cellnum{font-size:10.5px;text-anchor:middle}
svg.small{min-width:0;max-width:30rem}
svg.small text{font-size:12.5px}
svg .bound{fill-opacity:.45;stroke:currentColor;stroke-dasharray:3 2}
svg .expected{stroke:var(--text);stroke-width:2}
svg .peak{fill:var(--bad)}
.key{list-style:none;display:flex;flex-wrap:wrap;gap:.15rem 1rem;margin:.2rem 0;padding:0;font-size:.85rem}
.key svg{display:inline-block;width:.8em;min-width:0;height:.8em;margin-right:.35em;vertical-align:-.05em}
@media screen and (max-width:40rem){
header,main,footer{padding-left:.6rem;padding-right:.6rem}
section{padding:.8rem .75rem}
.tiles{grid-template-columns:repeat(auto-fit,minmax(6.4rem,1fr));gap:.4rem}
.tiles li{padding:.35rem .5rem}
.tiles b{font-size:1.1rem}
.found div{-webkit-line-clamp:5}
dl.facts{grid-template-columns:1fr;gap:0}
table.cards,table.cards caption,table.cards tbody{display:block}
table.cards thead,table.cards .l{display:none}
table.cards tr{display:grid;align-items:end;grid-template-columns:repeat(4,minmax(0,1fr));gap:.15rem .5rem;
padding:.5rem 0;border-top:1px solid var(--line)}
table.cards th,table.cards td{border:0;padding:0;min-width:0;text-align:left;white-space:normal;overflow-wrap:anywhere}
table.cards th,table.cards td:not(.n){grid-column:1/-1}
table.cards tbody th{font-weight:600}
table.cards bdi{overflow-wrap:anywhere}
table.cards td::before{content:attr(data-l);display:block;color:var(--soft);font-size:.85em}
}
@media (forced-colors:active){
:root{--page:Canvas;--card:Canvas;--band:Canvas;--line:CanvasText;--text:CanvasText;--soft:CanvasText;
--link:LinkText;--good:CanvasText;--warn:CanvasText;--bad:CanvasText}
svg .worst,svg .cell{fill:Canvas;fill-opacity:1;stroke:CanvasText}
svg .expected{stroke:Highlight}
svg .peak{fill:Highlight}
.tiles li{border:1px solid CanvasText}
}
@media print{
:root{LIGHT}
html{font-size:10.5px}
header,main,footer{max-width:none;padding:0}
nav,.skip,.filters{display:none}
section{border:0;border-top:1px solid var(--line);border-radius:0;padding:.8rem 0}
figure,tr{break-inside:avoid}
h2,h3,h4,summary{break-after:avoid}
.wide,.found div{overflow:visible}
.found div{display:block}
svg{min-width:0}
details::details-content{content-visibility:visible;block-size:auto}
th button::after{content:none}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
"""


def style_sheet() -> str:
    """Return all rules, without needless line breaks."""
    light, dark = variables(is_dark=False), variables(is_dark=True)
    themes = f":root{{color-scheme:light dark;{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return (themes + _CLASSES + _RULES.replace("LIGHT", light)).replace("\n", "")
