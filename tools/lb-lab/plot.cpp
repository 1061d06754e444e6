// See plot.h. What is drawn is rectangles and lines of text, on a surface that writes them down or paints them.
#include "tools/lb-lab/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "tools/lb-lab/raster.h"

namespace periapt::lab {

namespace {
constexpr int field_width = 460, field_height = 200, fields_max = 200;
constexpr int margin = 10, bars_width = 300, bars_height = 70, bars_top = 40, flows_left = 325, flows_size = 125,
              tones = 64;

class Surface {
 public:
  virtual ~Surface() = default;
  // In pixels from the top left; at least a thin line is seen.
  virtual void rectangle(double x, double y, double width, double height, Color color) = 0;
  virtual void text(double x, double y, const std::string& words) = 0;
};

class Vectors final : public Surface {
 public:
  explicit Vectors(std::ostream& out) : out_(out) {}
  void rectangle(double x, double y, double width, double height, Color color) override {
    char text[160];
    std::snprintf(text, sizeof text,
                  "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#%02x%02x%02x\"/>\n", x, y, width,
                  height, color.red, color.green, color.blue);
    out_ << text;
  }
  void text(double x, double y, const std::string& words) override {
    out_ << "<text x=\"" << x << "\" y=\"" << y + 10 << "\">";
    for (const char c : words)
      if (c == '<')
        out_ << "&lt;";
      else if (c == '&')
        out_ << "&amp;";
      else
        out_ << c;
    out_ << "</text>\n";
  }

 private:
  std::ostream& out_;
};

class Pixels final : public Surface {
 public:
  explicit Pixels(Raster& raster) : raster_(raster) {}
  void rectangle(double x, double y, double width, double height, Color color) override {
    const int left = static_cast<int>(std::lround(x)), top = static_cast<int>(std::lround(y));
    const int right = static_cast<int>(std::lround(x + width)), bottom = static_cast<int>(std::lround(y + height));
    raster_.fill(left, top, std::max(right, left + 1), std::max(bottom, top + 1), color);
  }
  void text(double x, double y, const std::string& words) override {
    raster_.write(static_cast<int>(x), static_cast<int>(y), words);
  }

 private:
  Raster& raster_;
};

void draw_bars(Surface& surface, double x, double y, const std::vector<double>& loads, double most, double average,
               Color color) {
  const double width = static_cast<double>(bars_width) / static_cast<double>(std::max<std::size_t>(1, loads.size()));
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double height = loads[i] / most * bars_height;
    if (height > 0)
      surface.rectangle(x + static_cast<double>(i) * width, y + bars_height - height, std::max(width - 1, width * 0.8),
                        height, color);
  }
  surface.rectangle(x, y + bars_height - average / most * bars_height, bars_width, 1, {85, 85, 85});
}

void draw_flows(Surface& surface, double x, double y, const std::vector<std::vector<std::uint64_t>>& flows) {
  std::uint64_t most = 1;
  for (const auto& row : flows) most = std::max(most, *std::max_element(row.begin(), row.end()));
  surface.rectangle(x - 1, y - 1, flows_size + 2, flows_size + 2, {221, 221, 221});
  surface.rectangle(x, y, flows_size, flows_size, {255, 255, 255});
  const double size = static_cast<double>(flows_size) / static_cast<double>(std::max<std::size_t>(1, flows.size()));
  for (std::size_t from = 0; from < flows.size(); ++from)
    for (std::size_t to = 0; to < flows.size(); ++to) {
      if (flows[from][to] == 0) continue;
      const double share = static_cast<double>(flows[from][to]) / static_cast<double>(most);
      const double dark = std::ceil(std::sqrt(share) * tones) / tones;
      const auto tone = [dark](int full) { return static_cast<std::uint8_t>(std::lround(255 - dark * (255 - full))); };
      surface.rectangle(x + static_cast<double>(to) * size, y + static_cast<double>(from) * size, size, size,
                        {tone(43), tone(108), tone(163)});
    }
}

void draw(Surface& surface, double x, double y, const View& view) {
  char words[256];
  std::snprintf(words, sizeof words, "step %u, %.30s", view.step, view.strategy.c_str());
  surface.text(x, y + 5, words);
  const double ratio = view.average > 0 ? 1 / view.average : 0;
  std::snprintf(words, sizeof words, "max/avg %.3f -> %.3f, %llu of %zu objects move, %zu PEs", view.max_before * ratio,
                view.max_after * ratio, static_cast<unsigned long long>(view.moved), view.objects, view.pes);
  surface.text(x, y + 20, words);
  const double most = std::max({view.max_before, view.max_after, 1e-30});
  draw_bars(surface, x, y + bars_top, view.before, most, view.average, {217, 131, 36});
  draw_bars(surface, x, y + bars_top + bars_height + 8, view.after, most, view.average, {43, 108, 163});
  surface.text(x + flows_left, y + bars_top + flows_size + 5, "row to column");
  draw_flows(surface, x + flows_left, y + bars_top, view.flows);
}

// Rows and columns of the picture; what has no room is left out.
struct Layout {
  explicit Layout(const std::vector<View>& views) : shown(std::min<std::size_t>(views.size(), fields_max)) {
    while (columns < shown && views[columns].step == views[0].step) ++columns;
    if (columns > 0) shown -= shown % columns;
  }
  int x(std::size_t i) const { return margin + static_cast<int>(i % columns) * field_width; }
  int y(std::size_t i) const { return margin + static_cast<int>(i / columns) * field_height; }
  int width() const { return 2 * margin + static_cast<int>(std::max<std::size_t>(columns, 1)) * field_width; }
  int height() const { return 2 * margin + static_cast<int>(columns > 0 ? shown / columns : 1) * field_height; }
  std::size_t shown, columns = 0;
};
}  // namespace

void write_svg(std::ostream& out, const std::vector<View>& views) {
  const Layout layout(views);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << layout.width() << "\" height=\"" << layout.height()
      << "\" font-family=\"sans-serif\" font-size=\"11\">\n";
  Vectors surface(out);
  surface.rectangle(0, 0, layout.width(), layout.height(), {255, 255, 255});
  for (std::size_t i = 0; i < layout.shown; ++i) draw(surface, layout.x(i), layout.y(i), views[i]);
  out << "</svg>\n";
}

void write_png(std::ostream& out, const std::vector<View>& views) {
  const Layout layout(views);
  Raster raster(layout.width(), layout.height());
  Pixels surface(raster);
  for (std::size_t i = 0; i < layout.shown; ++i) draw(surface, layout.x(i), layout.y(i), views[i]);
  raster.write_png(out);
}

}  // namespace periapt::lab
