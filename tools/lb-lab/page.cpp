// See page.h.
#include "tools/lb-lab/page.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace periapt::lab {

using nlohmann::json;

namespace {
constexpr const char* head = R"html(<!doctype html>
<html lang="en"><meta charset="utf-8"><title>lb-lab</title>
<style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 960px; padding: 0 1em }
svg { width: 100%; height: auto; display: block } select { font: inherit; margin-right: 1em }
.before { fill: #d98324 } .after { fill: #2b6ca3 } .line { stroke: #555; stroke-dasharray: 4 3 } text { font-size: 12px }
</style>
<h1>Load balancing, step by step</h1>
<p><label>step <select id="step"></select></label><label>strategy <select id="strategy"></select></label></p>
<p id="words"></p>
<h2>Load of the PEs</h2><p>above: before, below: after; the line is the average</p><svg id="loads" viewBox="0 0 900 420"></svg>
<h2>Who moves where</h2><p>rows: from, columns: to; the darker, the more objects</p><svg id="flows" viewBox="0 0 480 480"></svg>
<script>
const pictures = )html";

constexpr const char* tail = R"html(;
const $ = id => document.getElementById(id);
const unique = list => [...new Set(list)];
function fill(select, values) { select.replaceChildren(...values.map(v => new Option(v))); }
function strategiesOf(step) { return pictures.filter(p => p.step == step).map(p => p.strategy); }
function half(values, top, most, name) {
  const width = 900 / values.length, scale = 180 / most;
  return values.map((v, i) => `<rect class="${name}" x="${i * width}" y="${top + 180 - v * scale}" ` +
    `width="${Math.max(width - 1, 0.5)}" height="${v * scale}"><title>${v.toPrecision(4)} s</title></rect>`).join('');
}
function draw() {
  const p = pictures.find(p => p.step == $('step').value && p.strategy == $('strategy').value);
  if (!p) return;
  $('words').textContent = `${p.objects} objects on ${p.pes} PEs. Fullest PE ${p.max_before.toPrecision(4)} s before, ` +
    `${p.max_after.toPrecision(4)} s after; average ${p.average.toPrecision(4)} s; ${p.moved} objects move.`;
  const most = Math.max(p.max_before, p.max_after, 1e-30), level = top => top + 180 - p.average * 180 / most;
  const line = top => `<line class="line" x1="0" x2="900" y1="${level(top)}" y2="${level(top)}"/>`;
  $('loads').innerHTML = half(p.before, 10, most, 'before') + line(10) + half(p.after, 220, most, 'after') + line(220);
  const n = p.flows.length, size = 480 / n, all = Math.max(1, ...p.flows.flat());
  $('flows').innerHTML = p.flows.map((row, y) => row.map((v, x) => `<rect x="${x * size}" y="${y * size}" ` +
    `width="${size}" height="${size}" fill="rgb(43 108 163 / ${Math.sqrt(v / all)})" stroke="#ddd" stroke-width="0.5">` +
    `<title>${v} objects</title></rect>`).join('')).join('');
}
function steps() { fill($('strategy'), strategiesOf($('step').value)); draw(); }
fill($('step'), unique(pictures.map(p => p.step)));
$('step').onchange = steps; $('strategy').onchange = draw; steps();
</script></html>
)html";
}  // namespace

void Page::add(const View& view) {
  pictures_.push_back(json{
      {"step", view.step},
      {"strategy", view.strategy},
      {"objects", view.objects},
      {"pes", view.pes},
      {"max_before", view.max_before},
      {"max_after", view.max_after},
      {"average", view.average},
      {"moved", view.moved},
      {"before", view.before},
      {"after", view.after},
      {"flows",
       view.flows}}.dump());
}

void Page::write(std::ostream& out) const {
  out << head << '[';
  for (std::size_t k = 0; k < pictures_.size(); ++k) {
    // "</script>" in a name would end the script.
    std::string text = pictures_[k];
    for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) text.replace(at, 2, "<\\/");
    out << (k > 0 ? ",\n" : "") << text;
  }
  out << ']' << tail;
}

}  // namespace periapt::lab
