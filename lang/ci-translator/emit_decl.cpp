// M.decl.h: messages, indices and proxies of a module as classes. Included by a program's own headers.
#include <algorithm>
#include <set>

#include "lang/ci-translator/emit.h"
#include "lang/ci-translator/emit_sdag.h"
#include "lang/ci-translator/lower_sdag.h"
#include "lang/ci-translator/naming.h"
#include "lang/ci-translator/proxy_methods.h"
#include "lang/ci-translator/words.h"
#include "lang/ci-translator/writer.h"

namespace periapt::ci {
namespace {

class DeclEmitter {
 public:
  DeclEmitter(const Module& module, const SourceText& source)
      : module_(module), out_(source, module.name + ".decl.h") {}

  std::string run() {
    const std::string guard = "_DECL_" + module_.name + "_H_";
    out_.line("// Written by charmc from module " + module_.name + ": change the .ci file instead.");
    out_.line("#ifndef " + guard);
    out_.line("#define " + guard);
    out_.line("#include \"charm++.h\"");
    bool python = false, conditional = false, told = false;
    forEachItem(module_.items, "", [&](const Item& item, const std::string&) {
      auto* chare = std::get_if<Chare>(&item.node);
      if (!chare) return;
      python |= chare->has("python");
      for (const Entry* entry : entriesOf(*chare)) {
        told |= isNumbered(*entry) && (isTold(*entry) || !isRegistered(*entry));
        for (const Parameter& p : entry->parameters) conditional |= p.conditional;
      }
    });
    if (python) out_.line("#include \"PythonCCS.h\"");
    if (conditional) out_.line("#include \"runtime/api/conditional_argument.h\"");
    if (told) out_.line("#include \"runtime/api/direct_call.h\"");
    Stretch first;
    gather(module_.items, {}, false, first);
    stretches_.push_back(std::move(first));
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      for (const std::string& line : stretches_[i].includes) out_.line(line);
      out_.line();
      forwards(i);
      bodies(stretches_[i].items);
    }
    out_.line();
    out_.line("void _register" + module_.name + "(void);");
    if (module_.isMain) out_.line("extern \"C\" void CkRegisterMainModule(void);");
    out_.line("#endif  // " + guard);
    return out_.take();
  }

 private:
  using Scope = std::vector<std::string>;  // names of namespaces, the outermost first
  struct Placed {
    const Item* item;
    Scope scope;
    bool isExtern;
  };
  /// What stands in the module up to its next include, behind the includes that open it: a header may need the messages
  /// and chares in front of it, and those behind it may need the header.
  struct Stretch {
    std::vector<std::string> includes;
    std::vector<Placed> items;
  };

  void gather(const std::vector<Item>& items, const Scope& scope, bool isExtern, Stretch& now) {
    for (const Item& item : items) {
      if (auto* include = std::get_if<Include>(&item.node)) {
        includeLine("#include " + doubleQuoted(include->file), now);
      } else if (auto* other = std::get_if<Module>(&item.node)) {
        includeLine("#include \"" + other->name + ".decl.h\"", now);
      } else if (auto* space = std::get_if<Namespace>(&item.node)) {
        Scope inner = scope;
        inner.push_back(space->name);
        gather(space->items, inner, isExtern || item.isExtern, now);
      } else if (auto* block = std::get_if<Block>(&item.node)) {
        gather(block->items, scope, isExtern || item.isExtern, now);
      } else if (!std::holds_alternative<ExternEntry>(item.node)) {
        if (auto* chare = std::get_if<Chare>(&item.node))
          for (const Item& member : chare->items)
            if (auto* include = std::get_if<Include>(&member.node))
              includeLine("#include " + doubleQuoted(include->file), now);
        now.items.push_back({&item, scope, isExtern || item.isExtern});
      }
    }
  }

  void includeLine(const std::string& line, Stretch& now) {
    if (!now.items.empty()) {
      stretches_.push_back(std::move(now));
      now = {};
    }
    now.includes.push_back(line);
  }

  static std::string doubleQuoted(std::string text) {
    if (text.front() == '\'') text.front() = text.back() = '"';
    return text;
  }

  /// Calls visit(placed) for each, inside the namespaces that it was written in.
  template <class Visit>
  void inScope(const std::vector<Placed>& items, const Visit& visit) {
    Scope open;
    const auto change = [&](const Scope& to) {
      std::size_t common = 0;
      while (common < open.size() && common < to.size() && open[common] == to[common]) ++common;
      for (; open.size() > common; open.pop_back()) out_.line("}  // namespace " + open.back());
      for (; open.size() < to.size(); open.push_back(to[open.size()])) out_.line("namespace " + to[open.size()] + " {");
    };
    for (const Placed& placed : items) {
      change(placed.scope);
      visit(placed);
    }
    change({});
  }

  /// Names of classes first: entries may mention proxies that come later. Templates wait for the header in front of
  /// them, which their default arguments may need.
  void forwards(std::size_t stretch) {
    std::vector<Placed> named;
    for (std::size_t i = stretch; i < stretches_.size(); ++i)
      for (const Placed& placed : stretches_[i].items)
        if (isTemplate(*placed.item) ? i == stretch : stretch == 0) named.push_back(placed);
    inScope(named, [this](const Placed& placed) { forward(*placed.item); });
  }

  static bool isTemplate(const Item& item) {
    if (auto* message = std::get_if<Message>(&item.node)) return message->header.has_value();
    if (auto* chare = std::get_if<Chare>(&item.node)) return chare->header.has_value();
    return false;
  }

  void forward(const Item& item) {
    if (auto* forward = std::get_if<ForwardClass>(&item.node)) out_.line("class " + forward->name + ";");
    if (auto* message = std::get_if<Message>(&item.node); message && message->arguments.empty()) {
      // Default template arguments stand with the program's own class, and with ours here.
      const std::string header = message->header ? message->header->text(false) + " " : "";
      const std::string defaults = message->header ? message->header->text(true) + " " : "";
      out_.line(header + "class " + message->name + "; " + defaults + "class CMessage_" + message->name + ";");
    }
    if (auto* chare = std::get_if<Chare>(&item.node); chare && !chare->isInstantiation()) forwardChare(*chare);
  }

  void forwardChare(const Chare& chare) {
    const std::string header = chare.header ? chare.header->text(false) + " " : "";
    const std::string defaults = chare.header ? chare.header->text(true) + " " : "";
    std::string line = header + "class " + chare.name + ";";
    for (const char* prefix : {"CkIndex_", "CProxy_", "CProxyElement_", "CProxySection_"}) {
      const bool single = chare.kind == ChareKind::chare || chare.kind == ChareKind::mainchare;
      const std::string text(prefix);
      if (single && text != "CkIndex_" && text != "CProxy_") continue;
      line += " " + defaults + "class " + text + chare.name + ";";
    }
    out_.line(line);
  }

  void bodies(const std::vector<Placed>& items) {
    inScope(items, [this](const Placed& placed) {
      const auto& node = placed.item->node;
      if (placed.isExtern) return;
      if (auto* use = std::get_if<Using>(&node))
        out_.line(std::string("using ") + (use->isNamespace ? "namespace " : "") + use->name + ";");
      if (auto* message = std::get_if<Message>(&node); message && message->arguments.empty()) declare(*message);
      if (auto* chare = std::get_if<Chare>(&node); chare && !chare->isInstantiation()) declare(*chare);
    });
  }

  void declare(const Message& message) {
    const std::string arguments = message.header ? message.header->arguments() : "";
    const std::string own = message.name + arguments;
    std::string sizes;
    int arrays = 0;
    for (const MessageField& field : message.fields)
      if (field.isArray) sizes += ", int impl_s" + std::to_string(++arrays);
    out_.line();
    out_.line("// message " + message.name);
    if (message.header) out_.line(message.header->text(false));
    out_.line("class CMessage_" + message.name + " : public CkMessage {");
    out_.line(" public:");
    out_.line("  static int __idx;");
    if (arrays) {
      out_.line("  static thread_local periapt::MadeArrays<" + std::to_string(arrays) + "> impl_made;");
      out_.line("  CMessage_" + message.name + "();");
    }
    if (std::any_of(message.fields.begin(), message.fields.end(), [](const MessageField& f) { return f.conditional; }))
      out_.line("  ~CMessage_" + message.name + "();");
    std::vector<std::string> forms = {"", ", int* impl_sizes", ", int* impl_sizes, const int impl_prioBits",
                                      ", int* impl_sizes, const int impl_prioBits, const GroupDepNum impl_dep"};
    forms.push_back(sizes + ", const int impl_prioBits");
    forms.push_back(sizes + ", const int impl_prioBits, const GroupDepNum impl_dep");
    if (arrays) forms.push_back(sizes);
    for (const std::string& form : forms) {
      out_.line("  void* operator new(std::size_t impl_size" + form + ");");
      if (!form.empty()) out_.line("  void operator delete(void* impl_msg" + form + ") { CkFreeMsg(impl_msg); }");
    }
    out_.line("  void* operator new(std::size_t, void* impl_at) { return impl_at; }");
    out_.line("  void operator delete(void*, void*) {}");
    out_.line("  void operator delete(void* impl_msg) { CkFreeMsg(impl_msg); }");
    out_.line("  static void* alloc(int impl_index, std::size_t impl_size, int* impl_sizes, int impl_prioBits,");
    out_.line("                     GroupDepNum impl_dep = GroupDepNum{});");
    out_.line("  static void dealloc(void* impl_msg) { CkFreeMsg(impl_msg); }");
    out_.line("  static void* pack(" + own + "* impl_msg);");
    out_.line("  static " + own + "* unpack(void* impl_bytes);");
    out_.line("  static void __register(const char* name, std::size_t size, CkPackFnPtr pack, CkUnpackFnPtr unpack);");
    out_.line("};");
  }

  void declare(const Chare& chare) {
    const ChareNames names(chare);
    out_.line();
    out_.line("// " + std::string(toText(chare.kind)) + " " + (chare.index.empty() ? "" : "[" + chare.index + "] ") +
              chare.name);
    declareIndex(names);
    if (names.isSingle()) {
      declareProxy(names, "CProxy_", elementMethods(names));
    } else {
      declareProxy(names, "CProxyElement_", elementMethods(names));
      declareProxy(names, "CProxy_", proxyMethods(names));
      declareProxy(names, "CProxySection_", sectionMethods(names));
    }
    BodyEmitter(module_.items, names, out_, {}).sdagCode();
    declareBase(names);
  }

  void open(const ChareNames& names, const std::string& prefix) {
    if (!names.header.empty()) out_.line(names.header);
    // charmc reads the place there when the compiler knows no such base (tools/charmc/explain.cpp).
    const bool ownBases = prefix == "CkIndex_" && !names.chare.bases.empty();
    out_.line("class " + prefix + names.chare.name + names.baseList(prefix) + " {" +
              (ownBases ? "  // " + out_.place(names.chare.bases.front().span.begin) : ""));
    out_.line(" public:");
    std::string types = "  typedef " + names.local + " local_t; typedef " + names.index + " index_t; typedef " +
                        names.proxy + " proxy_t; typedef " + names.element + " element_t;";
    out_.line(types);
    if (!names.section.empty())
      out_.line("  typedef " + names.section + " section_t;" +
                (names.isArray() ? " typedef " + names.arrayIndex + " array_index_t;" : ""));
  }

  void declareIndex(const ChareNames& names) {
    open(names, "CkIndex_");
    out_.line("  static int __idx;");
    out_.line("  static void __register(const char* name, std::size_t size);");
    std::set<std::string> methods;  // of two entries of one method a pointer to it names the first
    for (const Entry* entry : entriesOf(names.chare)) {
      if (!isRegistered(*entry)) {
        if (isNumbered(*entry)) declareLocal(*entry, methods.insert(overloadKey(*entry)).second, names);
        continue;
      }
      if (entry->header) {
        declareTemplateEntry(names, *entry);
        continue;
      }
      const EntryNames entryNames(*entry);
      std::string types;
      for (const Parameter& p : entry->parameters)
        types += (types.empty() ? "" : ", ") + (takesMessage(*entry) ? p.type.plain() + "*" : sentFormal(p, ""));
      out_.line("  /* entry " + commentSafe(signature(*entry)) + " */");
      out_.line("  static int " + entryNames.ep + ";");
      out_.line("  static int " + entryNames.index + "(" + types + ") { return " + entryNames.ep + "; }");
      out_.line("  static int idx_" + entryNames.suffixed + "() { return " + entryNames.ep + "; }");
      if (!entry->isConstructor && methods.insert(overloadKey(*entry)).second)
        out_.line("  static int idx_" + entry->name + "(" + entry->result->text() + " (" + names.local + "::*)(" +
                  indexTypes(*entry) + ")) { return " + entryNames.ep + "; }");
      out_.line("  static void " + entryNames.call + "(periapt::Delivery& impl_call, void* impl_obj);");
      if (isPosted(*entry))
        out_.line("  static void " + entryNames.post +
                  "(periapt::Delivery& impl_call, void* impl_obj, CkNcpyBufferPost* impl_post);");
      if (isStructured(names.chare, *entry)) BodyEmitter(module_.items, names, out_, {}).declareIndex(*entry);
      if (entry->has("reductiontarget")) declareReductionTarget(*entry, entryNames);
    }
    if (names.migrates()) out_.line("  static void _call_migrate(periapt::Delivery& impl_call, void* impl_obj);");
    if (names.chare.has("python"))
      out_.line("  static void impl_python(std::vector<periapt::PythonMethod>& impl_all);");
    out_.line("};");
  }

  /// A [local] entry has a number, for traces and for programs that name entries by numbers; no message calls it.
  void declareLocal(const Entry& entry, bool first, const ChareNames& names) {
    const EntryNames entryNames(entry);
    std::string types;
    for (const Parameter& p : entry.parameters) types += (types.empty() ? "" : ", ") + sentFormal(p, "");
    out_.line("  static int " + entryNames.ep + ";");
    out_.line("  static int " + entryNames.index + "(" + types + ") { return " + entryNames.ep + "; }");
    if (first)
      out_.line("  static int idx_" + entry.name + "(" + entry.result->text() + " (" + names.local + "::*)(" +
                methodTypes(entry) + ")) { return " + entryNames.ep + "; }");
  }

  /// Each instance has a number of its own, which `extern entry` of some module gives it.
  void declareTemplateEntry(const ChareNames& names, const Entry& entry) {
    const EntryNames entryNames(entry);
    const std::string header = "  " + entry.header->text(true) + " ";
    const std::string method = entry.result->text() + " (" + names.local + "::*)(" + methodTypes(entry) + ")";
    const std::string arguments = entry.header->arguments();
    const std::string make = ", __PRETTY_FUNCTION__, [](const char* impl_use) { instantiate_" + entry.name + arguments +
                             "(static_cast<" + method + ">(nullptr), impl_use); })";
    const std::string number = "periapt::instantiated(" + entryNames.ep + arguments + make;
    std::string types;
    for (const Parameter& p : entry.parameters)
      types += (types.empty() ? "" : ", ") + (takesMessage(entry) ? p.type.plain() + "*" : sentFormal(p, ""));
    out_.line("  /* entry " + commentSafe(signature(entry)) + " */");
    out_.line(header + "inline static int " + entryNames.ep + " = -1;");
    out_.line(header + "static int " + entryNames.index + "(" + types + ") { return " + number + "; }");
    out_.line(header + "static int idx_" + entry.name + "(" + entry.result->text() + " (" + names.local + "::*)(" +
              indexTypes(entry) + ")) { return " + number + "; }");
    // Others ask for it than those that see its definition.
    out_.line(header + "[[gnu::used]] static void instantiate_" + entry.name + "(" + method +
              ", const char* impl_name);");
    out_.line(header + "static void " + entryNames.call + "(periapt::Delivery& impl_call, void* impl_obj);");
    if (!entry.has("reductiontarget")) return;
    const bool wrapped = hasReductionWrapper(entry);
    const std::string wrapper = "ep_redn_wrapper_" + entry.name;
    if (wrapped) out_.line(header + "inline static int " + wrapper + " = -1;");
    out_.line(header + "static int redn_wrapper_" + entry.name + "(CkReductionMsg*) { return periapt::instantiated(" +
              (wrapped ? wrapper : entryNames.ep) + arguments + make + "; }");
    if (wrapped)
      out_.line(header + "static void _call_redn_wrapper_" + entry.name +
                "(periapt::Delivery& impl_call, void* impl_obj);");
  }

  void declareReductionTarget(const Entry& entry, const EntryNames& names) {
    const bool wrapped = hasReductionWrapper(entry);
    if (wrapped) out_.line("  static int ep_redn_wrapper_" + entry.name + ";");
    out_.line("  static int redn_wrapper_" + entry.name + "(CkReductionMsg*) { return " +
              (wrapped ? "ep_redn_wrapper_" + entry.name : names.ep) + "; }");
    if (wrapped)
      out_.line("  static void _call_redn_wrapper_" + entry.name + "(periapt::Delivery& impl_call, void* impl_obj);");
  }

  static std::string commentSafe(std::string text) {
    for (std::size_t at; (at = text.find("*/")) != text.npos;) text.replace(at, 2, "* /");
    return text;
  }

  void declareProxy(const ChareNames& names, const std::string& prefix, const std::vector<Function>& methods) {
    open(names, prefix);
    constructors(names, prefix);
    if (prefix == "CProxy_") selectors(names);
    if (names.isSingle() || (names.isArray() && prefix == "CProxyElement_"))
      out_.line("  " + names.local + "* ckLocal() const { return static_cast<" + names.local +
                "*>(periapt::localObject(" + names.self(prefix) + ")); }");
    if (names.isGroup() && prefix == "CProxyElement_")
      out_.line("  " + names.local + "* ckLocalBranch() const { return static_cast<" + names.local +
                "*>(periapt::localBranch(" + names.self(prefix) + ")); }");
    if (names.isArray() && prefix == "CProxySection_") sections(names);
    if (names.isGroup() && prefix == "CProxySection_") {
      out_.line("  " + names.local + "* ckLocalBranch() const { return ckLocalBranch(this->ckGetGroupID()); }");
      localBranchOf(names);
    }
    if (names.chare.bases.size() > 1) oneOfSeveral(names, prefix);
    for (const Function& method : methods) out_.line("  " + method.declaration());
    if (names.isArray() && prefix == "CProxy_") emptyArrays(names);
    if (names.chare.has("python") && prefix != "CProxySection_") registerPython(names, prefix);
    out_.line("};");
  }

  /// Arrays without elements, whatever constructors there are; the second tells of it when it is made.
  void emptyArrays(const ChareNames& names) {
    const std::string type = names.index + "::__idx";
    out_.line(
        "  static CkArrayID ckCreateEmptyArray(const CkArrayOptions& impl_opts = CkArrayOptions()) { return "
        "periapt::newEmptyArray(" +
        type + ", impl_opts); }");
    out_.line(
        "  static void ckCreateEmptyArrayAsync(const CkCallback& impl_created, const CkArrayOptions& impl_opts = "
        "CkArrayOptions()) { periapt::newArrayAsyncMessage(" +
        type + ", -1, impl_opts, impl_created, nullptr); }");
  }

  /// Requests of clients come to all of a collection, or to one object.
  void registerPython(const ChareNames& names, const std::string& prefix) {
    const bool all = prefix == "CProxy_" && !names.isSingle();
    out_.line("  void registerPython(const char* impl_name) const { CcsRegisterHandler(impl_name, CkCallback(" +
              names.index + "::" + (all ? "pyRequest" : "pyRequestAlone") + "(nullptr), " + names.self(prefix) +
              ")); }");
  }

  /// Constructors take the same identity as those of the base classes.
  void constructors(const ChareNames& names, const std::string& prefix) {
    const std::string own = prefix + names.chare.name;
    if (prefix == "CProxySection_") {
      for (const std::string& base : names.bases(prefix)) {
        const std::size_t scope = base.rfind("::");
        std::string last = scope == base.npos ? base : base.substr(scope + 2);
        last = last.substr(0, last.find('<'));
        out_.line("  using " + base + "::" + last + ";");
      }
      return;
    }
    out_.line("  " + own + "() {}");
    const std::string object = "const " + names.handleClass() + "* impl_object";
    constructor(names, prefix, object, "impl_object");
    if (names.isSingle()) return constructor(names, prefix, "const CkChareID& impl_id", "impl_id");
    const std::string id = std::string("const ") + (names.isArray() ? "CkArrayID" : "CkGroupID") + "& impl_id";
    if (prefix == "CProxy_") return constructor(names, prefix, id, "impl_id");
    const std::string which = names.isArray() ? "const " + names.arrayIndex + "& impl_index" : "int impl_onPE";
    constructor(names, prefix, id + ", " + which, names.isArray() ? "impl_id, impl_index" : "impl_id, impl_onPE");
    // What a CkSectionID or a callback of a library has is an index of no certain dimension.
    if (names.isArray() && names.arrayIndex != "CkArrayIndexMax" && names.arrayIndex != "CkArrayIndex")
      constructor(names, prefix, id + ", const CkArrayIndex& impl_index", "impl_id, impl_index");
  }

  void constructor(const ChareNames& names, const std::string& prefix, const std::string& formals,
                   const std::string& arguments) {
    std::string bases;
    for (const std::string& base : names.bases(prefix))
      bases += (bases.empty() ? "" : ", ") + base + "(" + arguments + ")";
    out_.line("  " + prefix + names.chare.name + "(" + formals + ") : " + bases + " {}");
  }

  /// proxy[i], proxy(i, j), ckLocalBranch().
  void selectors(const ChareNames& names) {
    if (names.isGroup()) {
      out_.line("  " + names.element + " operator[](int impl_onPE) const { return periapt::elementOf(" +
                names.self("CProxy_") + ", " + names.element + "(this->ckGetGroupID(), impl_onPE)); }");
      out_.line("  " + names.local + "* ckLocalBranch() const { return static_cast<" + names.local +
                "*>(periapt::localBranch(" + names.self("CProxy_") + ")); }");
      localBranchOf(names);
    }
    if (!names.isArray()) return;
    byIndex(names,
            "{ return periapt::elementOf(" + names.self("CProxy_") + ", " + names.element + "(this->ckGetArrayID(), ",
            ")); }", 1);
  }

  void localBranchOf(const ChareNames& names) {
    out_.line("  static " + names.local + "* ckLocalBranch(const CkGroupID& impl_id) { return " + names.proxy +
              "(impl_id).ckLocalBranch(); }");
  }

  /// proxy[index], proxy(index), and proxy(i, j) for at least `dimensions` numbers.
  void byIndex(const ChareNames& names, const std::string& make, const std::string& end, int dimensions) {
    out_.line("  " + names.element + " operator[](const " + names.arrayIndex + "& impl_index) const " + make +
              "impl_index" + end);
    out_.line("  " + names.element + " operator()(const " + names.arrayIndex + "& impl_index) const " + make +
              "impl_index" + end);
    if (names.dimensions < dimensions) return;
    std::string formals;
    std::string arguments;
    for (int i = 0; i < names.dimensions; ++i) {
      const std::string name = "impl_i" + std::to_string(i);
      formals += (i ? ", " : "") + std::string(names.dimensions > 3 ? "short " : "int ") + name;
      arguments += (i ? ", " : "") + name;
    }
    out_.line("  " + names.element + " operator()(" + formals + ") const " + make + names.arrayIndex + "(" + arguments +
              ")" + end);
  }

  /// CProxySection_X::ckNew: elements listed, or a range (first, last, step) in each dimension; section[i], and an
  /// element of the array by its index.
  void sections(const ChareNames& names) {
    const std::string factor = "int impl_factor = USE_DEFAULT_BRANCH_FACTOR";
    const std::string head = "  static CkSectionID ckNew(const CkArrayID& impl_id, ";
    const std::string index = names.arrayIndex;
    const std::string make = "{ return " + names.element + "(this->ckGetArrayID(), ";
    out_.line("  " + names.element + " operator[](int impl_i) const " + make + "static_cast<const " + index + "&>(" +
              names.bases("CProxySection_").front() + "::ckGetArrayElements()[impl_i])); }");
    out_.line("  " + names.element + " operator()(int impl_i) const { return (*this)[impl_i]; }");
    byIndex(names, make, "); }", 2);  // one number says which member
    out_.line(head + "const " + index + "* impl_elements, int impl_count, " + factor + ") {");
    out_.line(
        "    return CkSectionID(impl_id, std::vector<CkArrayIndex>(impl_elements, impl_elements + impl_count), "
        "impl_factor);");
    out_.line("  }");
    out_.line(head + "const std::vector<" + index + ">& impl_elements, " + factor + ") {");
    out_.line("    return ckNew(impl_id, impl_elements.data(), static_cast<int>(impl_elements.size()), impl_factor);");
    out_.line("  }");
    // Indices of another class; a template, so that a list in braces means the array's own.
    const std::string other = "  template <class impl_Index> static CkSectionID ckNew(const CkArrayID& impl_id, const ";
    out_.line(other + "impl_Index* impl_elements, int impl_count, " + factor + ") {");
    out_.line("    return periapt::sectionOf(impl_id, impl_elements, impl_count, impl_factor);");
    out_.line("  }");
    out_.line(other + "std::vector<impl_Index>& impl_elements, " + factor + ") {");
    out_.line("    return periapt::sectionOf(impl_id, impl_elements.data(), impl_elements.size(), impl_factor);");
    out_.line("  }");
    if (names.dimensions < 1) return;
    std::string formals;
    std::string coordinates;
    std::string loops;
    for (int d = 1; d <= names.dimensions; ++d) {
      const std::string n = std::to_string(d);
      formals += "int impl_l" + n + ", int impl_u" + n + ", int impl_s" + n + ", ";
      coordinates += (d > 1 ? ", impl_i" : "impl_i") + n;
      loops += std::string(d > 1 ? "\n      " : "    ") + "for (int impl_i" + n + " = impl_l" + n + "; impl_i" + n +
               " <= impl_u" + n + "; impl_i" + n + " += impl_s" + n + ")";
    }
    out_.line(head + formals + factor + ") {");
    out_.line("    std::vector<" + index + "> impl_elements;");
    out_.line(loops + " impl_elements.emplace_back(" + coordinates + ");");
    out_.line("    return ckNew(impl_id, impl_elements, impl_factor);");
    out_.line("  }");
  }

  /// With several bases the identity is there several times, always the same; the first one answers.
  void oneOfSeveral(const ChareNames& names, const std::string& prefix) {
    const std::string first = names.bases(prefix).front();
    const std::string id = names.isArray() ? "CkArrayID" : names.isGroup() ? "CkGroupID" : "CkChareID";
    const std::string getter = names.isArray() ? "ckGetArrayID" : names.isGroup() ? "ckGetGroupID" : "ckGetChareID";
    out_.line("  " + id + " " + getter + "() const { return " + first + "::" + getter + "(); }");
    std::string pups;
    for (const std::string& base : names.bases(prefix)) pups += " " + base + "::pup(impl_p);";
    out_.line("  void pup(PUP::er& impl_p) {" + pups + " }");
  }

  /// CBase_X: what the program derives its class from.
  void declareBase(const ChareNames& names) {
    // The first one is where the object's machine is, if it has entries with bodies.
    const bool machine = hasBodies(names.chare);
    const auto parent = [&](std::string type) {
      if (names.chare.has("python")) type = "periapt::Scriptable<" + type + ", " + names.index + ">";
      return (machine ? "periapt::sdag::With<" + type + ", " + names.local + ">" : type) + ", ";
    };
    std::string parents;
    for (const Type& base : names.chare.bases) parents += parents.empty() ? parent(base.plain()) : base.plain() + ", ";
    if (parents.empty()) parents = parent(names.isArray() ? "ArrayElementT<" + names.elementIndex + ">" : names.root());
    const std::size_t count = std::max<std::size_t>(names.chare.bases.size(), 1);
    const std::string type = "CBaseT" + std::to_string(count) + "<" + parents + names.proxy + ">";
    if (names.header.empty()) return out_.line("typedef " + type + " CBase_" + names.chare.name + ";");
    out_.line(names.header + " using CBase_" + names.chare.name + " = " + type + ";");
  }

  const Module& module_;
  Writer out_;
  std::vector<Stretch> stretches_;
};

}  // namespace

std::string emitDecl(const Module& module, const SourceText& source) { return DeclEmitter(module, source).run(); }

}  // namespace periapt::ci
