// M.def.h: what the classes of M.decl.h do, and the registration of the module. Included once by the program, behind
// its own classes.
#include <algorithm>

#include "lang/ci-translator/emit.h"
#include "lang/ci-translator/emit_sdag.h"
#include "lang/ci-translator/lower_sdag.h"
#include "lang/ci-translator/naming.h"
#include "lang/ci-translator/proxy_methods.h"
#include "lang/ci-translator/words.h"
#include "lang/ci-translator/writer.h"

namespace periapt::ci {
namespace {

bool hasTemplateEntries(const Chare& chare) {
  const auto entries = entriesOf(chare);
  return std::any_of(entries.begin(), entries.end(), [](const Entry* e) { return e->header.has_value(); });
}

/// `T& x`, which the method may take as T&, T&& and so on.
bool isWritableReference(const Parameter& p) { return !p.length && p.type.references == 1 && !p.type.isConst; }

/// The unmarshalled argument as the method is given it. A pointer to an array is a variable: it may be taken as `T*&`.
std::string handedOver(const Parameter& p, const std::string& name) {
  if (p.length) return name + ".data()";
  return isWritableReference(p) ? "periapt::refOrMove(" + name + ".ref())" : name + ".move()";
}

class DefEmitter {
 public:
  DefEmitter(const Module& module, const SourceText& source) : module_(module), out_(source, module.name + ".def.h") {}

  std::string run() {
    out_.line("// Written by charmc from module " + module_.name + ": change the .ci file instead.");
    if (waitsElsewhere()) out_.line("#include \"sdag.h\"");
    if (hasTemplates(module_.items)) {
      open("_DEF_" + module_.name + "_TEMPLATES_H_");
      definitions(module_.items, true);
      out_.line("#endif");
    }
    pupableInstances();
    out_.line("#ifndef CK_TEMPLATES_ONLY");
    open("_DEF_" + module_.name + "_H_");
    readonlys(module_.items);
    definitions(module_.items, false);
    registration();
    out_.line("#endif");
    out_.line("#endif  // CK_TEMPLATES_ONLY");
    return out_.take();
  }

 private:
  void open(const std::string& guard) {
    out_.line("#ifndef " + guard);
    out_.line("#define " + guard);
  }

  /// Some when waits for what another file may declare.
  bool waitsElsewhere() const {
    bool found = false;
    forEachItem(module_.items, "", [&](const Item& item, const std::string&) {
      const auto* chare = std::get_if<Chare>(&item.node);
      if (!chare || item.isExtern || chare->isInstantiation()) return;
      for (const Entry* entry : entriesOf(*chare)) {
        if (!entry->body) continue;
        forEachStatement(*entry->body, [&](const Sdag& s) {
          for (const Awaited& a : s.awaited)
            found |= awaitedEntry(module_.items, *chare, a).where == AwaitedEntry::Where::elsewhere;
        });
      }
    });
    return found;
  }

  static bool hasTemplates(const std::vector<Item>& items) {
    bool found = false;
    forEachItem(items, "", [&found](const Item& item, const std::string&) {
      if (auto* chare = std::get_if<Chare>(&item.node)) found |= chare->header || hasTemplateEntries(*chare);
      if (auto* message = std::get_if<Message>(&item.node)) found |= message->header.has_value();
    });
    return found;
  }

  /// Does a namespace hold anything that this part of the file defines?
  static bool holds(const std::vector<Item>& items, bool templates) {
    bool found = false;
    forEachItem(items, "", [&](const Item& item, const std::string&) {
      if (item.isExtern) return;
      if (auto* c = std::get_if<Chare>(&item.node))
        found |= !c->isInstantiation() && (c->header.has_value() == templates || (templates && hasTemplateEntries(*c)));
      if (auto* m = std::get_if<Message>(&item.node))
        found |= m->arguments.empty() && m->header.has_value() == templates;
      if (auto* able = std::get_if<PupAble>(&item.node); able && !templates)
        for (const Type& type : able->types) found |= type.arguments.empty();
      found |= std::holds_alternative<AccelBlock>(item.node) && !templates;
    });
    return found;
  }

  void readonlys(const std::vector<Item>& items) {
    for (const Item& item : items) {
      if (auto* block = std::get_if<Block>(&item.node)) readonlys(block->items);
      if (auto* space = std::get_if<Namespace>(&item.node)) {
        bool any = false;
        forEachItem(space->items, "",
                    [&any](const Item& i, const std::string&) { any |= std::holds_alternative<Readonly>(i.node); });
        if (!any) continue;
        out_.line("namespace " + space->name + " {");
        readonlys(space->items);
        out_.line("}");
      }
      auto* readonly = std::get_if<Readonly>(&item.node);
      if (!readonly || readonly->name.find("::") != std::string::npos) continue;  // a class has declared those
      out_.lineAt(readonly->nameSpan.begin,
                  "extern " + readonly->type.text() + " " + readonly->name + dimensions(*readonly) + ";");
    }
  }

  static std::string dimensions(const Readonly& readonly) {
    std::string out;
    for (const std::string& d : readonly.dimensions) out += "[" + d + "]";
    return out;
  }

  /// Only where CK_TEMPLATES_ONLY is defined, as in Charm++: programs that include no such part define them themselves.
  void pupableInstances() {
    bool any = false;
    forEachItem(module_.items, "", [&](const Item& item, const std::string& scope) {
      auto* able = std::get_if<PupAble>(&item.node);
      if (!able || item.isExtern) return;
      for (const Type& type : able->types) {
        if (type.arguments.empty()) continue;
        if (!any) {
          out_.line("#ifdef CK_TEMPLATES_ONLY");
          open("_DEF_" + module_.name + "_PUPABLES_H_");
        }
        any = true;
        out_.lineAt(type.span.begin,
                    "PUPable_def_template(" + (type.qualifier.empty() ? scope : "") + type.plain() + ")");
      }
    });
    if (!any) return;
    out_.line("#endif");
    out_.line("#endif");
  }

  void definitions(const std::vector<Item>& items, bool templates) {
    for (const Item& item : items) {
      if (item.isExtern) continue;
      if (auto* block = std::get_if<Block>(&item.node)) definitions(block->items, templates);
      if (auto* space = std::get_if<Namespace>(&item.node); space && holds(space->items, templates)) {
        out_.line("namespace " + space->name + " {");
        definitions(space->items, templates);
        out_.line("}  // namespace " + space->name);
      }
      if (auto* accel = std::get_if<AccelBlock>(&item.node); accel && !templates && !accel->code.empty())
        out_.lineAt(accel->at.begin, accel->code);
      if (auto* able = std::get_if<PupAble>(&item.node); able && !templates)
        for (const Type& type : able->types)
          if (type.arguments.empty()) out_.lineAt(type.span.begin, "PUPable_def(" + type.plain() + ")");
      if (auto* m = std::get_if<Message>(&item.node); m && m->arguments.empty() && m->header.has_value() == templates)
        define(*m);
      auto* c = std::get_if<Chare>(&item.node);
      if (!c || c->isInstantiation()) continue;
      if (templates) defineTemplateEntries(*c);
      if (c->header.has_value() == templates) define(*c);
    }
  }

  std::string place(std::size_t offset) const { return out_.place(offset); }

  // --- messages ---

  void define(const Message& message) {
    const std::string header = message.header ? message.header->text(false) + " " : "";
    const std::string own = message.name + (message.header ? message.header->arguments() : "");
    const std::string base = "CMessage_" + own;
    std::vector<const MessageField*> arrays;
    std::vector<const MessageField*> conditional;
    for (const MessageField& field : message.fields)
      if (field.isArray || field.conditional) (field.isArray ? arrays : conditional).push_back(&field);
    out_.line();
    out_.line("// message " + message.name);
    if (header.empty())
      out_.lineAt(message.nameSpan.begin, "static_assert(periapt::isDefined<" + own + ">(), \"" +
                                              place(message.nameSpan.begin) + ": message " + message.name +
                                              " needs a class " + message.name + " : public CMessage_" + message.name +
                                              ", defined before " + module_.name + ".def.h is included\");");
    out_.line(header + "int " + base + "::__idx = 0;");
    if (!arrays.empty())
      out_.line(header + "thread_local periapt::MadeArrays<" + std::to_string(arrays.size()) + "> " + base +
                "::impl_made{};");
    allocators(header, own, base, arrays.size());
    allocation(header, own, base, arrays);
    if (!arrays.empty()) construction(message, own, arrays);
    if (!conditional.empty()) destruction(message, own, conditional);
    packing(header, own, base, arrays, conditional);
    out_.line(header + "void " + base +
              "::__register(const char* name, std::size_t size, CkPackFnPtr pack, CkUnpackFnPtr unpack) {");
    // A class that kept the generated pack can change owner within a host as it is; what a conditional field points to
    // does not lie in the message.
    out_.line("  const bool impl_relocatable = " +
              (conditional.empty() ? "pack == reinterpret_cast<CkPackFnPtr>(" + base + "::pack);" : "false;"));
    out_.line("  __idx = CkRegisterMsg(name, pack, unpack, CkFreeMsg, size, impl_relocatable);");
    out_.line("}");
  }

  /// The forms of `new`: all reach alloc, which the class may have overridden.
  void allocators(const std::string& header, const std::string& own, const std::string& base, std::size_t arrays) {
    auto form = [&](const std::string& formals, const std::string& setup, const std::string& rest) {
      out_.line(header + "void* " + base + "::operator new(std::size_t impl_size" + formals + ") { " + setup +
                "return " + own + "::alloc(__idx, impl_size, " + rest + "); }");
    };
    const std::string prio = ", const int impl_prioBits";
    const std::string dep = prio + ", const GroupDepNum impl_dep";
    form("", "", "nullptr, 0, GroupDepNum{}");
    form(", int* impl_sizes", "", "impl_sizes, 0, GroupDepNum{}");
    form(", int* impl_sizes" + prio, "", "impl_sizes, impl_prioBits, GroupDepNum{}");
    form(", int* impl_sizes" + dep, "", "impl_sizes, impl_prioBits, impl_dep");
    std::string formals;
    std::string names;
    for (std::size_t i = 1; i <= arrays; ++i) {
      formals += ", int impl_s" + std::to_string(i);
      names += (i > 1 ? ", impl_s" : "impl_s") + std::to_string(i);
    }
    const std::string setup = arrays ? "int impl_sizes[] = {" + names + "}; " : "";
    const std::string sizes = arrays ? "impl_sizes" : "nullptr";
    form(formals + prio, setup, sizes + ", impl_prioBits, GroupDepNum{}");
    form(formals + dep, setup, sizes + ", impl_prioBits, impl_dep");
    if (arrays) form(formals, setup, sizes + ", 0, GroupDepNum{}");
  }

  /// One block: the object, then each array, all aligned.
  void allocation(const std::string& header, const std::string& own, const std::string& base,
                  const std::vector<const MessageField*>& arrays) {
    out_.line(
        header + "void* " + base +
        "::alloc(int impl_index, std::size_t impl_size, int* impl_sizes, int impl_prioBits, GroupDepNum impl_dep) {");
    if (arrays.empty()) {
      out_.line("  return CkAllocMsg(impl_index, impl_size, impl_prioBits, impl_dep);");
      return out_.line("}");
    }
    out_.line("  std::size_t offsets[" + std::to_string(arrays.size() + 1) + "];");
    out_.line("  offsets[0] = ALIGN16(impl_size);");
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const std::string at = std::to_string(i);
      out_.line("  offsets[" + std::to_string(i + 1) + "] = offsets[" + at + "] + (impl_sizes ? ALIGN16(sizeof(" +
                arrays[i]->type.text() + ") * impl_sizes[" + at + "]) : 0);");
    }
    out_.line("  auto* impl_msg = static_cast<" + own + "*>(CkAllocMsg(impl_index, offsets[" +
              std::to_string(arrays.size()) + "], impl_prioBits, impl_dep));");
    setPointers(arrays, "offsets");
    out_.line("  impl_made.message = impl_msg;");
    for (std::size_t i = 0; i < arrays.size(); ++i)
      out_.line("  impl_made.offsets[" + std::to_string(i) + "] = offsets[" + std::to_string(i) + "];");
    out_.line("  return impl_msg;");
    out_.line("}");
  }

  /// Between alloc and the constructor `new M()` writes zeroes over the object: the constructor sets the pointers
  /// again.
  void construction(const Message& message, const std::string& own, const std::vector<const MessageField*>& arrays) {
    const std::string header = message.header ? message.header->text(false) + " " : "";
    out_.line(header + "CMessage_" + own + "::CMessage_" + message.name + "() {");
    out_.line("  auto* impl_msg = static_cast<" + own + "*>(this);");
    out_.line("  if (impl_made.message != impl_msg) return;");
    out_.line("  impl_made.message = nullptr;");
    setPointers(arrays, "impl_made.offsets");
    out_.line("}");
  }

  void setPointers(const std::vector<const MessageField*>& arrays, const std::string& offsets) {
    for (std::size_t i = 0; i < arrays.size(); ++i)
      out_.lineAt(arrays[i]->span.begin, "  impl_msg->" + arrays[i]->name + " = reinterpret_cast<" +
                                             arrays[i]->type.text() + "*>(reinterpret_cast<char*>(impl_msg) + " +
                                             offsets + "[" + std::to_string(i) + "]);");
  }

  /// Packed, the pointers are offsets from the message; what conditional fields point to lies behind it.
  void packing(const std::string& header, const std::string& own, const std::string& base,
               const std::vector<const MessageField*>& arrays, const std::vector<const MessageField*>& conditional) {
    std::string objects;
    for (const MessageField* field : conditional) objects += ", &" + own + "::" + field->name;
    out_.line(header + "void* " + base + "::pack(" + own + "* impl_msg) {");
    for (const MessageField* a : arrays)
      out_.line("  impl_msg->" + a->name + " = reinterpret_cast<" + a->type.text() +
                "*>(reinterpret_cast<const char*>(impl_msg->" + a->name + ") - reinterpret_cast<char*>(impl_msg));");
    out_.line(conditional.empty() ? "  return impl_msg;"
                                  : "  return periapt::packConditional(impl_msg" + objects + ");");
    out_.line("}");
    out_.line(header + own + "* " + base + "::unpack(void* impl_bytes) {");
    out_.line("  auto* impl_msg = static_cast<" + own + "*>(impl_bytes);");
    for (const MessageField* a : arrays)
      out_.line("  impl_msg->" + a->name + " = reinterpret_cast<" + a->type.text() +
                "*>(reinterpret_cast<std::size_t>(impl_msg->" + a->name + ") + static_cast<char*>(impl_bytes));");
    if (!conditional.empty()) out_.line("  periapt::unpackConditional(impl_msg" + objects + ");");
    out_.line("  return impl_msg;");
    out_.line("}");
  }

  /// The objects of conditional fields go with the message.
  void destruction(const Message& message, const std::string& own, const std::vector<const MessageField*>& fields) {
    const std::string header = message.header ? message.header->text(false) + " " : "";
    out_.line(header + "CMessage_" + own + "::~CMessage_" + message.name + "() {");
    for (const MessageField* field : fields)
      out_.lineAt(field->span.begin,
                  "  periapt::dropConditional(static_cast<" + own + "*>(this)->" + field->name + ");");
    out_.line("}");
  }

  // --- chares ---

  void define(const Chare& chare) {
    const ChareNames names(chare);
    const std::string header = names.header.empty() ? "" : names.header + " ";
    out_.line();
    out_.line("// " + std::string(toText(chare.kind)) + " " + chare.name);
    out_.line(header + "int " + names.index + "::__idx = 0;");
    for (const Entry* entry : entriesOf(chare)) {
      if (!isNumbered(*entry) || entry->header) continue;
      out_.line(header + "int " + names.index + "::" + EntryNames(*entry).ep + " = 0;");
      if (hasReductionWrapper(*entry))
        out_.line(header + "int " + names.index + "::ep_redn_wrapper_" + entry->name + " = 0;");
    }
    // Registration comes first: its assertions say in words what the calls below would say in templates.
    registerChare(names, header);
    for (const Entry* entry : entriesOf(chare)) {
      if (!isRegistered(*entry) || entry->header) continue;
      call(names, header, *entry);
      if (isStructured(chare, *entry)) bodyEmitter(names).method(*entry);
      if (entry->body) bodyEmitter(names).body(*entry);
      if (isPosted(*entry)) postCall(names, header, *entry);
      if (hasReductionWrapper(*entry)) reductionCall(names, header, *entry);
    }
    if (names.migrates()) {
      out_.line(header + "void " + names.index + "::_call_migrate(periapt::Delivery& impl_call, void* impl_obj) {");
      out_.line("  periapt::migrationConstruct<" + names.local + ">(impl_obj);");
      out_.line("}");
    }
    if (chare.has("python")) pythonMethods(names, header);
    for (const auto& methods : {elementMethods(names), proxyMethods(names), sectionMethods(names)})
      for (const Function& method : methods)
        if (method.header.empty()) define(method, names.header);
  }

  /// What scripts call as charm.name(...).
  void pythonMethods(const ChareNames& names, const std::string& header) {
    out_.line(header + "void " + names.index + "::impl_python(std::vector<periapt::PythonMethod>& impl_all) {");
    for (const Entry* entry : entriesOf(names.chare))
      for (const Attribute& a : entry->attributes)
        if (a.name == "python")
          out_.lineAt(entry->nameSpan.begin, "  impl_all.push_back({\"" + entry->name + "\", " +
                                                 (a.documentation.empty() ? "\"\"" : a.documentation) +
                                                 ", [](PythonObject* impl_o, int impl_handle) { static_cast<" +
                                                 names.local + "*>(impl_o)->" + entry->name + "(impl_handle); }});");
    out_.line("}");
  }

  /// What the instances of template entries do; in the part that other modules may include for it.
  void defineTemplateEntries(const Chare& chare) {
    const ChareNames names(chare);
    const std::string header = names.header.empty() ? "" : names.header + " ";
    for (const Entry* entry : entriesOf(chare)) {
      if (!entry->header || !isRegistered(*entry)) continue;
      const EntryNames entryNames(*entry);
      const std::string both = header + entry->header->text(false) + " ";
      const std::string arguments = entry->header->arguments();
      call(names, both, *entry);
      if (hasReductionWrapper(*entry)) reductionCall(names, both, *entry);
      out_.line(both + "void " + names.index + "::instantiate_" + entry->name + "(" + entry->result->text() + " (" +
                names.local + "::*)(" + methodTypes(*entry) + "), const char* impl_name) {");
      out_.line("  if (" + entryNames.ep + arguments + " >= 0) return;");
      out_.line("  " + entryNames.ep + arguments + " = CkRegisterEp(impl_name, " + entryNames.call + arguments + ", " +
                messageIndex(*entry) + ", __idx, " + flags(chare, *entry) +
                (entry->stackSize ? ", " + *entry->stackSize : "") + ");");
      if (hasReductionWrapper(*entry)) registerWrapper(*entry, arguments);
      out_.line("}");
    }
    for (const auto& methods : {elementMethods(names), proxyMethods(names), sectionMethods(names)})
      for (const Function& method : methods)
        if (!method.header.empty()) define(method, names.header);
  }

  BodyEmitter bodyEmitter(const ChareNames& names) {
    return {module_.items, names, out_, [this](std::size_t offset) { return place(offset); }};
  }

  void define(const Function& function, const std::string& header) {
    out_.line(function.head(header));
    for (const std::string& statement : function.body) out_.lineAt(function.at, "  " + statement);
    out_.line("}");
  }

  /// The receiving side: takes the arguments out of the message and calls the method.
  void call(const ChareNames& names, const std::string& header, const Entry& entry) {
    const EntryNames entryNames(entry);
    out_.line(header + "void " + names.index + "::" + entryNames.call +
              "(periapt::Delivery& impl_call, void* impl_obj) {");
    if (isStructured(names.chare, entry)) {
      bodyEmitter(names).call(entry);
      return out_.line("}");
    }
    std::string arguments;
    if (takesMessage(entry)) {
      const std::string message = entry.parameters[0].type.plain();
      arguments = "static_cast<" + message + "*>(impl_call.arguments)";
      if (isAnswered(entry)) out_.line("  const auto impl_caller = periapt::syncCaller(impl_call);");
    } else if (!entry.parameters.empty()) {
      openUnmarshal(entry);
      for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
        const Parameter& p = entry.parameters[i];
        const std::string name = parameterName(entry, i);
        const std::string holder = isNcpy(p) ? "periapt::NcpyArg<" : p.length ? "periapt::ArrayArg<" : "periapt::Arg<";
        out_.lineAt(p.span.begin, "  " + holder + heldType(p) + "> " + name + "(impl_in);");
        arguments += (i ? ", " : "") + handedOver(p, name);
      }
    }
    out_.lineAt(entry.nameSpan.begin, "  " + statement(names, entry, arguments));
    if (isAnswered(entry) && entry.result->isVoid())
      out_.line(std::string("  periapt::replySync(") + (takesMessage(entry) ? "impl_caller);" : "impl_call);"));
    out_.line("}");
  }

  void openUnmarshal(const Entry& entry) {
    const int arrays = ncpyCount(entry);
    out_.line(arrays == 0 ? "  periapt::Unmarshal impl_in(impl_call);"
                          : "  periapt::NcpyUnmarshal impl_in(impl_call, " + std::to_string(arrays) + ");");
  }

  /// Calls the post entry method, which may change sizes and set pointers to buffers of its own.
  void postCall(const ChareNames& names, const std::string& header, const Entry& entry) {
    out_.line(header + "void " + names.index + "::" + EntryNames(entry).post +
              "(periapt::Delivery& impl_call, void* impl_obj, CkNcpyBufferPost* impl_post) {");
    openUnmarshal(entry);
    std::string arguments;
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      const Parameter& p = entry.parameters[i];
      const std::string name = parameterName(entry, i);
      const std::string held =
          "impl_" + std::to_string(i) + "(impl_in); auto&& " + name + " = impl_" + std::to_string(i);
      const std::string holder = isNcpy(p)  ? "periapt::NcpyPosting<"
                                 : p.length ? "periapt::ArrayArg<"
                                            : "periapt::Arg<";
      out_.lineAt(p.span.begin, "  " + holder + heldType(p) + "> " + held + (p.length ? ".data();" : ".ref();"));
      arguments += name + ", ";
    }
    const bool onDevice = isForDevice(entry);
    if (onDevice) out_.line("  CkDeviceBufferPost impl_device[" + std::to_string(ncpyCount(entry)) + "];");
    out_.lineAt(entry.nameSpan.begin, "  static_cast<" + names.local + "*>(impl_obj)->" + entry.name + "(" + arguments +
                                          (onDevice ? "impl_device);" : "impl_post);"));
    int index = 0;
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      if (!isNcpy(entry.parameters[i])) continue;
      const std::string which = "[" + std::to_string(index++) + "]";
      out_.lineAt(entry.parameters[i].span.begin, "  periapt::assigned(impl_post" + which + ", " +
                                                      parameterName(entry, i) + ", " + *entry.parameters[i].length +
                                                      (onDevice ? ", impl_device" + which : "") + ");");
    }
    out_.line("}");
  }

  std::string statement(const ChareNames& names, const Entry& entry, const std::string& arguments) const {
    if (entry.isConstructor) return "new (impl_obj) " + names.local + "(" + arguments + ");";
    const std::string object = "static_cast<" + names.local + "*>(impl_obj)";
    const std::string method = entry.header ? "template " + entry.name + entry.header->arguments() : entry.name;
    const std::string made = object + "->" + method + "(" + arguments + ")";
    if (!isAnswered(entry) || entry.result->isVoid()) return made + ";";
    return std::string("periapt::replySync(") + (takesMessage(entry) ? "impl_caller, " : "impl_call, ") + made + ");";
  }

  void reductionCall(const ChareNames& names, const std::string& header, const Entry& entry) {
    out_.line(header + "void " + names.index + "::_call_redn_wrapper_" + entry.name +
              "(periapt::Delivery& impl_call, void* impl_obj) {");
    if (isTrigger(names.chare, entry))
      out_.line("  periapt::sdag::numberOfMessage(periapt::sdag::holder<" + names.local +
                ">(impl_obj), impl_call.arguments);");
    const bool any = !entry.parameters.empty();
    if (any) out_.line("  periapt::ReductionArgs impl_in(impl_call);");
    const auto array = std::find_if(entry.parameters.begin(), entry.parameters.end(),
                                    [](const Parameter& p) { return p.length.has_value(); });
    std::string arguments;
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      const Parameter& p = entry.parameters[i];
      const std::string name = parameterName(entry, i);
      if (i) arguments += ", ";
      if (p.length) {
        out_.lineAt(p.span.begin, "  auto* " + name + " = impl_in.array<" + heldType(p) + ">();");
        arguments += name;
      } else if (array != entry.parameters.end()) {
        arguments += "impl_in.count<" + heldType(*array) + ">()";
      } else {
        out_.lineAt(p.span.begin, "  periapt::ReductionArg<" + heldType(p) + "> " + name + "(impl_in);");
        arguments += handedOver(p, name);
      }
    }
    const std::string method = entry.header ? "template " + entry.name + entry.header->arguments() : entry.name;
    out_.lineAt(entry.nameSpan.begin,
                "  static_cast<" + names.local + "*>(impl_obj)->" + method + "(" + arguments + ");");
    out_.line("}");
  }

  // --- registration ---

  void registerChare(const ChareNames& names, const std::string& header) {
    static constexpr const char* kinds[] = {"TypeMainChare", "TypeChare", "TypeGroup", "TypeNodeGroup", "TypeArray"};
    const Chare& chare = names.chare;
    out_.line(header + "void " + names.index + "::__register(const char* name, std::size_t size) {");
    if (names.header.empty()) assertions(names);
    out_.line("  __idx = CkRegisterChare(name, size, " + std::string(kinds[static_cast<int>(chare.kind)]) + ");");
    if (names.isArray()) out_.line("  CkRegisterArrayDimensions(__idx, " + std::to_string(names.dimensions) + ");");
    if (names.isArray() && chare.bases.empty())
      out_.line("  CkRegisterBase(__idx, CkIndex_ArrayElement::__idx, periapt::baseOffset<" + names.local +
                ", ArrayElement>());");
    for (const Type& base : chare.bases)
      out_.line("  CkRegisterBase(__idx, " + prefixed("CkIndex_", base) + "::__idx, periapt::baseOffset<" +
                names.local + ", " + base.plain() + ">());");
    for (const Entry* entry : entriesOf(chare)) {
      if (isRegistered(*entry) && !entry->header) registerEntry(names, *entry);
      if (!isRegistered(*entry) && isNumbered(*entry))
        out_.line("  " + EntryNames(*entry).ep + " = CkRegisterEp(\"" + escaped(signature(*entry)) +
                  "\", periapt::called_by_message, 0, __idx, periapt::ep_local);");
    }
    if (names.migrates())
      out_.line("  CkRegisterMigCtor(__idx, CkRegisterEp(\"" + chare.name +
                "(CkMigrateMessage*)\", _call_migrate, 0, __idx, periapt::ep_constructor));");
    out_.line("}");
  }

  void registerEntry(const ChareNames& names, const Entry& entry) {
    const EntryNames entryNames(entry);
    std::string registered = "  " + entryNames.ep + " = CkRegisterEp(\"" + escaped(signature(entry)) + "\", " +
                             entryNames.call + ", " + messageIndex(entry) + ", __idx, " + flags(names.chare, entry);
    if (entry.stackSize) registered += ", " + *entry.stackSize;
    out_.line(registered + ");");
    if (isStructured(names.chare, entry)) bodyEmitter(names).registerEntry(entry);
    if (isPosted(entry))
      out_.line("  CkRegisterPostEntry(" + entryNames.ep + ", " + entryNames.post + itemBytes(entry) + ");");
    if (entry.has("whenidle"))
      out_.line("  CkRegisterIdleEntry(" + entryNames.ep + ", [](void* impl_o) -> bool { return static_cast<" +
                names.local + "*>(impl_o)->" + entry.name + "(); });");
    if (entry.has("aggregate")) out_.line("  CkRegisterAggregate(" + bufferBytes(entry) + ");");
    if (hasReductionWrapper(entry)) registerWrapper(entry, "");
    if (!entry.isConstructor) return;
    if (names.chare.kind == ChareKind::mainchare) out_.line("  CkRegisterMainChare(__idx, " + entryNames.ep + ");");
    if (entry.parameters.empty()) out_.line("  CkRegisterDefaultCtor(__idx, " + entryNames.ep + ");");
  }

  /// Of the array that a reduction brings to a reduction target.
  static std::string itemBytes(const Entry& entry) {
    if (!entry.has("reductiontarget")) return {};
    const auto array = std::find_if(entry.parameters.begin(), entry.parameters.end(), isNcpy);
    return ", sizeof(" + heldType(*array) + ")";
  }

  /// What takes a reduction's result apart for the entry; `arguments` of the instance of a template.
  void registerWrapper(const Entry& entry, const std::string& arguments) {
    out_.line("  ep_redn_wrapper_" + entry.name + arguments + " = CkRegisterEp(\"redn_wrapper_" + entry.name +
              "(CkReductionMsg*)\", _call_redn_wrapper_" + entry.name + arguments +
              ", 0, __idx, periapt::ep_reductiontarget | periapt::ep_nokeep" +
              (entry.has("threaded") ? " | periapt::ep_threaded" : "") + ");");
  }

  /// Which message the entry takes; 0 for one that this module has not declared.
  std::string messageIndex(const Entry& entry) const {
    if (!takesMessage(entry)) return entry.parameters.empty() ? "0" : "CkMarshallMsg::__idx";
    const Type& type = entry.parameters[0].type;
    bool declared = false;
    forEachItem(module_.items, "", [&](const Item& item, const std::string& scope) {
      auto* message = std::get_if<Message>(&item.node);
      declared |= message && !item.isExtern && message->name == type.name &&
                  (type.qualifier.empty() || type.qualifier == scope);
    });
    return declared ? type.qualifier + "CMessage_" + type.name + type.arguments + "::__idx" : "0";
  }

  /// What an [aggregate] entry says of its buffers; TRAM's own number where it says nothing.
  static std::string bufferBytes(const Entry& entry) {
    for (const Attribute& a : entry.attributes)
      for (const auto& [key, value] : a.arguments)
        if (a.name == "aggregate" && key == "bufferSize") return value;
    return "16384";
  }

  static std::string flags(const Chare& chare, const Entry& entry) {
    std::string out;
    auto add = [&out](const std::string& flag) { out += (out.empty() ? "" : " | ") + ("periapt::ep_" + flag); };
    if (!takesMessage(entry)) add("marshalled");
    if (entry.isConstructor) add("constructor");
    if (entry.has("nokeep") && !isStructured(chare, entry)) add("nokeep");  // a body frees its message itself
    for (const char* name : {"threaded", "sync", "exclusive", "expedited", "immediate", "inline", "notrace",
                             "createhere", "createhome", "reductiontarget"})
      if (entry.has(name)) add(name);
    if (entry.has("iget")) add("sync");  // the future gets its answer as a waiting call does
    // The machine of a node group's member is one PE's at a time.
    if (chare.kind == ChareKind::nodegroup && isStructured(chare, entry) && !entry.has("exclusive")) add("exclusive");
    if (ncpyCount(entry) != 0) add("nocopy");
    if (isPosted(entry)) add("nocopypost");
    if (isForDevice(entry)) add("nocopydevice");
    return out.empty() ? "0" : out;
  }

  /// Sentences for a class that does not match its .ci.
  void assertions(const ChareNames& names) {
    const Chare& chare = names.chare;
    const std::string who = place(chare.nameSpan.begin) + ": " + std::string(toText(chare.kind)) + " " + chare.name;
    out_.lineAt(chare.nameSpan.begin, "  static_assert(periapt::isDefined<" + names.local + ">(), \"" + who +
                                          " needs a class of that name, defined before " + module_.name +
                                          ".def.h is included\");");
    out_.lineAt(chare.nameSpan.begin, "  static_assert(std::is_base_of<" + names.root() + ", " + names.local +
                                          ">::value, \"" + who + ": class " + chare.name +
                                          " has to be derived from CBase_" + chare.name + "\");");
    for (const Type& base : chare.bases)
      out_.lineAt(base.span.begin, "  static_assert(std::is_base_of<" + base.plain() + ", " + names.local +
                                       ">::value, \"" + who + ": class " + chare.name + " has to be derived from " +
                                       base.plain() + ", as its .ci says, by way of CBase_" + chare.name + "\");");
    if (hasBodies(chare))
      out_.lineAt(chare.nameSpan.begin, "  static_assert(periapt::sdag::hasCode<" + names.local + ">(), \"" + who +
                                            " has entries with bodies: class " + chare.name + " needs the line " +
                                            chare.name + "_SDAG_CODE\");");
    for (const Entry* entry : entriesOf(chare)) {
      if (!isRegistered(*entry) || entry->header) continue;
      if (!isStructured(chare, *entry))
        assertion(names, *entry);
      else if (isPosted(*entry))
        postAssertion(names, *entry);
    }
  }

  void assertion(const ChareNames& names, const Entry& entry) {
    std::string types;  // as a person would declare them
    std::string givenTypes;
    std::string values;
    for (const Parameter& p : entry.parameters) {
      std::string type = heldType(p);
      if (p.length) type += "*";
      const bool writable = isWritableReference(p);
      const std::string given = writable ? "periapt::RefOrMove<" + type + ">" : type + (p.length ? "&" : "");
      values += (values.empty() ? "" : ", ") + ("std::declval<" + given + ">()");
      givenTypes += ", " + (p.length ? given : type + (writable ? "&" : ""));
      types += (types.empty() ? "" : ", ") + (p.conditional ? typeInClass(p).text() : type + (writable ? "&" : ""));
    }
    const std::string who = "\"" + place(entry.nameSpan.begin) + ": class " + names.local + " has no ";
    const std::string what = (entry.isConstructor ? "constructor " : "method ") + entry.name + "(" + types + ")";
    const std::string sentence =
        who + escaped(what) + " that is public, which 'entry " + escaped(signature(entry)) + "' asks for\");";
    if (entry.isConstructor)
      return out_.lineAt(entry.nameSpan.begin,
                         "  static_assert(periapt::constructible<" + names.local + givenTypes + ">(), " + sentence);
    out_.lineAt(entry.nameSpan.begin, hasMethod(names, entry.name + "(" + values + ")") + sentence + " }");
    if (isPosted(entry)) postAssertion(names, entry);
  }

  /// An assertion up to its sentence: an object of the class can be called so. The block keeps the name of the
  /// question, and ends behind the sentence.
  static std::string hasMethod(const ChareNames& names, const std::string& call) {
    return "  { auto impl_call = [](auto& impl_o) -> decltype(void(impl_o." + call +
           ")) {}; static_assert(periapt::has<" + names.local + ", decltype(impl_call)>(), ";
  }

  /// Beside the method itself there has to be one that names buffers for the arrays.
  void postAssertion(const ChareNames& names, const Entry& entry) {
    const std::string posts = isForDevice(entry) ? "CkDeviceBufferPost*" : "CkNcpyBufferPost*";
    std::string types;
    std::string values;
    for (const Parameter& p : entry.parameters) {
      const std::string type = heldType(p) + (p.length ? "*" : "");
      types += type + ", ";
      values += "std::declval<" + type + "&>(), ";
    }
    out_.lineAt(entry.nameSpan.begin,
                hasMethod(names, entry.name + "(" + values + "std::declval<" + posts + ">())") + "\"" +
                    place(entry.nameSpan.begin) + ": class " + names.local + " has no post entry method " +
                    escaped(entry.name + "(" + types + posts + ")") + " that is public, which says where the " +
                    (isForDevice(entry) ? "nocopydevice" : "nocopypost") + " arrays of 'entry " +
                    escaped(signature(entry)) + "' go\"); }");
  }

  void registration() {
    out_.line();
    out_.line("void _register" + module_.name + "(void) {");
    out_.line("  static int done = 0;");
    out_.line("  if (done) return;");
    out_.line("  done = 1;");
    forEachItem(module_.items, "", [this](const Item& item, const std::string&) {
      if (auto* other = std::get_if<Module>(&item.node)) out_.line("  _register" + other->name + "();");
    });
    forEachItem(module_.items, "",
                [this](const Item& item, const std::string& scope) { registerReadonly(item, scope, ""); });
    forEachItem(module_.items, "",
                [this](const Item& item, const std::string& scope) { registerMessage(item, scope); });
    forEachItem(module_.items, "", [this](const Item& item, const std::string& scope) { registerClass(item, scope); });
    forEachItem(module_.items, "", [this](const Item& item, const std::string& scope) { instantiate(item, scope); });
    forEachItem(module_.items, "",
                [this](const Item& item, const std::string& scope) { registerCalls(item, scope, ""); });
    out_.line("}");
    if (module_.isMain) out_.line("extern \"C\" void CkRegisterMainModule(void) { _register" + module_.name + "(); }");
  }

  void registerReadonly(const Item& item, const std::string& scope, const std::string& owner) {
    if (auto* chare = std::get_if<Chare>(&item.node))
      for (const Item& member : chare->items) registerReadonly(member, scope, chare->name + "::");
    auto* readonly = std::get_if<Readonly>(&item.node);
    if (!readonly || item.isExtern) return;
    const std::string name = scope + owner + readonly->name;
    const std::string variable = "::" + name;  // size is std::size too where a program is using namespace std
    const std::string type = readonly->type.text() + dimensions(*readonly);
    const std::string held = "decltype(" + variable + ")";
    std::string pup = std::string("periapt::pupReadonly") + (readonly->isMessage ? "Message" : "") + "<" +
                      (readonly->type.references ? "std::remove_reference_t<" + held + ">" : held) + ">";
    if (!readonly->isMessage && !readonly->type.pointers.empty()) {
      pointerAssertion(*readonly, variable);
      pup = "[](void* impl_p, void*) { *static_cast<PUP::er*>(impl_p) | " + variable + "; }";
    }
    out_.lineAt(readonly->nameSpan.begin, "  CkRegisterReadonly(\"" + name + "\", \"" + escaped(type) + "\", sizeof(" +
                                              variable + "), &" + variable + ", " + pup + ", 0);");
  }

  /// A pointer is made on other processes by an operator of the program's own. That of a type such as double* is found
  /// here, where all that the program declares is seen, but not in a template of the runtime's.
  void pointerAssertion(const Readonly& readonly, const std::string& variable) {
    std::string element = variable;
    for (std::size_t i = 0; i < readonly.dimensions.size(); ++i) element += "[0]";
    const std::string type = escaped(readonly.type.text());
    out_.lineAt(readonly.type.span.begin,
                "  static_assert(periapt::isPacked<decltype(std::declval<PUP::er&>() | " + element + ")>(), \"" +
                    place(readonly.type.span.begin) + ": the readonly " + readonly.name +
                    " is a pointer, and what it points to does not exist on other processes: use an array of a fixed "
                    "size or a std::vector, or write operator|(PUP::er&, " +
                    type + "&), which makes it there (a class derived from PUP::able has one)\");");
  }

  void registerMessage(const Item& item, const std::string& scope) {
    auto* message = std::get_if<Message>(&item.node);
    if (!message || item.isExtern || message->header) return;
    const std::string own = message->name + message->arguments;
    const std::string full = scope + own;
    out_.lineAt(message->nameSpan.begin, "  " + scope + "CMessage_" + own + "::__register(\"" + escaped(own) +
                                             "\", sizeof(" + full + "), reinterpret_cast<CkPackFnPtr>(" + full +
                                             "::pack), reinterpret_cast<CkUnpackFnPtr>(" + full + "::unpack));");
  }

  void registerClass(const Item& item, const std::string& scope) {
    auto* chare = std::get_if<Chare>(&item.node);
    if (!chare || item.isExtern || chare->header) return;
    const std::string own = chare->name + chare->arguments;
    out_.lineAt(chare->nameSpan.begin, "  " + scope + "CkIndex_" + own + "::__register(\"" + escaped(own) +
                                           "\", sizeof(" + scope + own + "));");
  }

  /// extern entry void X f(int&): the instance that the method's pointer names.
  void instantiate(const Item& item, const std::string& scope) {
    auto* instance = std::get_if<ExternEntry>(&item.node);
    if (!instance) return;
    Type target = instance->target;
    if (target.qualifier.empty()) target.qualifier = scope;
    const Entry& entry = instance->entry;
    const std::string name = entry.name + instance->arguments;
    const std::string types = methodTypes(entry);
    out_.lineAt(entry.nameSpan.begin, "  " + prefixed("CkIndex_", target) + "::instantiate_" + name + "(static_cast<" +
                                          entry.result->text() + " (" + target.plain() + "::*)(" + types +
                                          ")>(nullptr), \"" + escaped(name + "(" + types + ")") + "\");");
  }

  void registerCalls(const Item& item, const std::string& scope, const std::string& owner) {
    if (auto* chare = std::get_if<Chare>(&item.node))
      for (const Item& member : chare->items) registerCalls(member, scope, chare->name + "::");
    if (item.isExtern) return;
    if (auto* init = std::get_if<InitCall>(&item.node))
      out_.lineAt(item.span.begin, "  CkRegisterInitCall(" + scope + owner + init->name + ", " +
                                       (init->perNode ? "false" : "true") + ");");
    if (auto* pupable = std::get_if<PupAble>(&item.node))
      for (const Type& type : pupable->types)
        out_.lineAt(type.span.begin, "  PUPable_reg(" + (type.qualifier.empty() ? scope : "") + type.plain() + ");");
  }

  const Module& module_;
  Writer out_;
};

}  // namespace

std::string emitDef(const Module& module, const SourceText& source) { return DefEmitter(module, source).run(); }

}  // namespace periapt::ci
