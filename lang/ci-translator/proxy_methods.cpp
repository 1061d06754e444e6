#include "lang/ci-translator/proxy_methods.h"

#include <algorithm>

#include "lang/ci-translator/words.h"

namespace periapt::ci {
namespace {

enum class Receiver { element, whole, section };

const Function::Formal options_formal{"const CkEntryOptions* impl_e_opts", "nullptr"};

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

/// Parameters of a proxy method, without the runtime's own ones behind them.
std::vector<Function::Formal> sentFormals(const Entry& entry) {
  std::vector<Function::Formal> out;
  if (takesMessage(entry)) return {{entry.parameters[0].type.plain() + "* impl_msg", ""}};
  for (std::size_t i = 0; i < entry.parameters.size(); ++i)
    out.push_back({sentFormal(entry.parameters[i], parameterName(entry, i)), entry.parameters[i].defaultValue});
  return out;
}

/// Of an array parameter, without const.
std::string elementType(const Parameter& p) {
  Type type = p.type;
  type.isConst = false;
  return type.text();
}

/// What a proxy method hands to the runtime: the message, or the arguments.
std::vector<std::string> sentArguments(const Entry& entry) {
  if (takesMessage(entry)) return {"impl_msg"};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const std::string name = parameterName(entry, i);
    const Parameter& p = entry.parameters[i];
    if (isNcpy(p)) {
      out.push_back((isOnDevice(p) ? "periapt::deviceArg<" : "periapt::ncpyArg<") + elementType(p) + ">(" + name +
                    ", " + *p.length + ")");
    } else {
      out.push_back(p.length ? "periapt::arrayArg(" + name + ", " + *p.length + ")" : name);
    }
  }
  return out;
}

/// The same arguments for a direct call of the object's method, which may want them writable.
std::string directArguments(const Entry& entry) {
  if (takesMessage(entry)) return "impl_msg";
  std::vector<std::string> out;
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const Parameter& p = entry.parameters[i];
    const std::string name = parameterName(entry, i);
    Type type = p.type;
    type.references = 0;
    if (p.length && !p.type.isConst)
      out.push_back("const_cast<" + type.text() + "*&>(" + name + ")");
    else if (p.type.references == 1 && !p.type.isConst)
      out.push_back("const_cast<" + type.text() + "&>(" + name + ")");
    else if (p.type.references == 2)
      out.push_back(type.text() + "(" + name + ")");
    else
      out.push_back(name);
  }
  return join(out);
}

std::string sendFlags(const Entry& entry) {
  std::string out;
  const auto add = [&](const char* attribute, const char* flag) {
    if (entry.has(attribute)) out += (out.empty() ? "periapt::" : " | periapt::") + std::string(flag);
  };
  add("expedited", "send_expedited");
  add("immediate", "send_immediate");
  add("aggregate", "send_together");
  add("createhere", "send_with_source");  // the element is made there
  return out.empty() ? "0" : out;
}

/// Arguments of one of the runtime's calls: `first`, then entry options (marshalled only), then what is sent.
std::string callArguments(const Entry& entry, std::vector<std::string> first) {
  if (!takesMessage(entry)) first.push_back("impl_e_opts");
  for (std::string& argument : sentArguments(entry)) first.push_back(std::move(argument));
  return "(" + join(first) + ");";
}

/// Emits the functions of one kind of proxy.
class Methods {
 public:
  Methods(const ChareNames& names, Receiver receiver) : names_(names), receiver_(receiver) {
    switch (receiver) {
      case Receiver::element:
        owner_ = names.element;
        prefix_ = names.isSingle() ? "CProxy_" : "CProxyElement_";
        break;
      case Receiver::whole:
        owner_ = names.proxy;
        prefix_ = "CProxy_";
        break;
      case Receiver::section:
        owner_ = names.section;
        prefix_ = "CProxySection_";
        break;
    }
    self_ = names.self(prefix_);
  }

  std::vector<Function> run() {
    bool hasDefault = false;
    for (const Entry* entry : entriesOf(names_.chare)) {
      if (entry->isConstructor) {
        hasDefault |= entry->parameters.empty();
        constructor(*entry);
      } else if (entry->has("local") || entry->has("whenidle")) {
        local(*entry);
      } else if (entry->has("sync")) {
        if (receiver_ == Receiver::element) sync(*entry);
      } else if (entry->has("iget")) {
        if (receiver_ == Receiver::element) iget(*entry);
      } else {
        ordinary(*entry);
      }
    }
    if (names_.isArray() && receiver_ == Receiver::whole && !hasDefault) emptyArray();
    return std::move(out_);
  }

 private:
  Function start(const Entry& entry, std::string result, std::string name) const {
    Function f;
    f.owner = owner_;
    f.result = std::move(result);
    f.name = std::move(name);
    f.formals = sentFormals(entry);
    ofTemplate(f, entry);
    f.at = entry.nameSpan.begin;
    return f;
  }
  static void ofTemplate(Function& f, const Entry& entry) {
    if (!entry.header) return;
    f.header = entry.header->text(false);
    f.declaredHeader = entry.header->text(true);
  }
  void withOptions(Function& f, const Entry& entry) const {
    if (!takesMessage(entry)) f.formals.push_back(options_formal);
  }
  std::string ep(const Entry& entry) const {
    const std::string own = names_.index + "::";
    if (!entry.header) return own + EntryNames(entry).ep;
    const std::string instance = own + "template " + EntryNames(entry).ep + entry.header->arguments();
    return "periapt::instantiated(" +
           (names_.header.empty() ? own + EntryNames(entry).ep + entry.header->arguments() : instance) +
           ", __PRETTY_FUNCTION__)";
  }
  std::string type() const { return names_.index + "::__idx"; }
  /// What finds the receiver of this proxy, if that is on the calling PE.
  const char* localReceiver() const {
    if (names_.isArray()) return "localObject";
    return receiver_ == Receiver::element ? "localMember" : "localBranch";
  }
  /// What tells of a call in place, of impl_local, as long as that lasts; empty for entries that nothing records.
  std::string directCall(const Entry& entry) const {
    if (!isTold(entry)) return {};
    const std::string array = names_.isArray() ? ", (" + self_ + ").ckGetArrayID().index()" : "";
    return "const periapt::DirectCall impl_direct(" + ep(entry) + ", impl_local" + array + ");";
  }
  /// The method as a call of the object names it: of a template the instance, whose parameters may not tell it.
  static std::string methodOf(const Entry& entry) {
    return entry.header ? "template " + entry.name + entry.header->arguments() : entry.name;
  }
  static std::string messageForm(const std::string& name, const Entry& entry) {
    return name + (takesMessage(entry) ? "Message" : "");
  }

  /// A body that runs later holds an object that may be null: it gets the caller's share, as from a message.
  static bool handsOverConditional(const Entry& entry) {
    return entry.body && std::any_of(entry.parameters.begin(), entry.parameters.end(),
                                     [](const Parameter& p) { return p.conditional; });
  }
  void ordinary(const Entry& entry) {
    Function f = start(entry, "void", entry.name);
    f.isConst = true;
    withOptions(f, entry);
    // (Arrays sent without a copy have buffers to be released: those always take the way through the runtime.)
    if (entry.has("inline") && receiver_ == Receiver::element && !names_.isSingle() && ncpyCount(entry) == 0 &&
        !handsOverConditional(entry)) {
      const std::string call = "return void(impl_local->" + methodOf(entry) + "(" + directArguments(entry) + "));";
      const std::string told = directCall(entry);
      f.body.push_back("if (auto* impl_local = static_cast<" + names_.local + "*>(periapt::" + localReceiver() + "(" +
                       self_ + "))) " + (told.empty() ? call : "{ " + told + " " + call + " }"));
    }
    f.body.push_back("periapt::" + messageForm("invoke", entry) + callArgumentsOf(entry));
    out_.push_back(std::move(f));
    if (receiver_ == Receiver::whole && names_.chare.kind == ChareKind::group) {
      listed(entry, {{"int impl_npes", ""}, {"const int* impl_pes", ""}}, "impl_npes, impl_pes");
      listed(entry, {{"const CmiGroup& impl_group", ""}}, "impl_group");
    }
  }

  /// A call of some members of a group: `g.work(arguments, npes, pes)`, `g.work(arguments, CmiGroup)`.
  void listed(const Entry& entry, const std::vector<Function::Formal>& which, const std::string& arguments) {
    Function f = start(entry, "void", entry.name);
    f.isConst = true;
    for (Function::Formal& formal : f.formals) formal.defaultValue.clear();
    f.formals.insert(f.formals.end(), which.begin(), which.end());
    withOptions(f, entry);
    f.body.push_back(
        "periapt::" + messageForm("invoke", entry) +
        callArguments(entry, {"periapt::listed(" + self_ + ", " + arguments + ")", ep(entry), sendFlags(entry)}));
    out_.push_back(std::move(f));
  }

  std::string callArgumentsOf(const Entry& entry) const {
    return callArguments(entry, {self_, ep(entry), sendFlags(entry)});
  }

  void sync(const Entry& entry) {
    Function f = start(entry, entry.result->text(), entry.name);
    f.isConst = true;
    withOptions(f, entry);
    f.body.push_back((entry.result->isVoid() ? "" : "return ") + std::string("periapt::invokeSync") +
                     (takesMessage(entry) ? "Message" : "") + "<" + f.result + ">" +
                     callArguments(entry, {self_, ep(entry)}));
    out_.push_back(std::move(f));
  }

  void iget(const Entry& entry) {
    Function f = start(entry, "CkFutureID", entry.name);
    f.isConst = true;
    withOptions(f, entry);
    f.body.push_back("return periapt::" + messageForm("invokeGet", entry) + callArguments(entry, {self_, ep(entry)}));
    out_.push_back(std::move(f));
  }

  /// A plain call: any arguments, any result, only here.
  void local(const Entry& entry) {
    if (receiver_ == Receiver::section || (receiver_ == Receiver::whole && names_.isArray())) return;
    if (names_.isSingle() || names_.chare.kind == ChareKind::nodegroup) return;  // a [whenidle] entry of theirs
    Function f;
    f.owner = owner_;
    f.result = entry.result ? entry.result->text() : "void";
    f.name = entry.name;
    ofTemplate(f, entry);
    f.at = entry.nameSpan.begin;
    f.isConst = true;
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      const Parameter& p = entry.parameters[i];
      const std::string name = parameterName(entry, i);
      Type type = typeInClass(p);  // as it is handed on, an object stays the caller's
      if (p.length) type.pointers.push_back(false);
      f.formals.push_back({type.text(name), p.defaultValue});
      const bool movable = type.references == 2 || (type.pointers.empty() && !type.references && !isScalar(type));
      arguments.push_back(movable ? "std::move(" + name + ")" : name);
    }
    f.body.push_back("auto* impl_local = static_cast<" + names_.local + "*>(periapt::" + localReceiver() + "(" + self_ +
                     "));");
    f.body.push_back("if (!impl_local) periapt::notLocal(" + self_ + ", \"" + names_.local + "\", \"" + entry.name +
                     "\");");
    if (const std::string told = directCall(entry); !told.empty()) f.body.push_back(told);
    f.body.push_back("return impl_local->" + methodOf(entry) + "(" + join(arguments) + ");");
    out_.push_back(std::move(f));
  }

  void constructor(const Entry& entry) {
    if (names_.isSingle()) {
      newChare(entry);
    } else if (names_.isGroup()) {
      if (receiver_ == Receiver::whole) newGroup(entry);
    } else if (receiver_ == Receiver::element) {
      insert(entry);
    } else if (receiver_ == Receiver::whole) {
      newArray(entry);
    }
  }

  /// Whether a proxy can have a constructor with these parameters that makes the chare, without being taken for one
  /// that copies a proxy or an id.
  bool mayConstruct(const Entry& entry) const {
    if (entry.parameters.empty() || names_.chare.kind == ChareKind::mainchare) return false;
    if (entry.parameters.size() > 1 || takesMessage(entry)) return true;
    const std::string name = entry.parameters[0].type.name;
    return name != "CkGroupID" && name != "CkNodeGroupID" && name != "CkChareID" &&
           name != "CProxy_" + names_.chare.name;
  }

  /// `CProxy_X proxy(arguments)`, beside `CProxy_X::ckNew(arguments)`.
  void constructing(const Entry& entry, const Function& maker, const std::vector<std::string>& behind) {
    if (!mayConstruct(entry)) return;
    Function f = maker;
    f.isStatic = false;
    f.result.clear();
    f.name = "CProxy_" + names_.chare.name;
    f.isExplicit = true;
    std::vector<std::string> arguments;
    if (takesMessage(entry))
      arguments.push_back("impl_msg");
    else
      for (std::size_t i = 0; i < entry.parameters.size(); ++i) arguments.push_back(parameterName(entry, i));
    for (const std::string& name : behind) arguments.push_back(name);
    if (!takesMessage(entry)) arguments.push_back("impl_e_opts");
    // Without arguments the proxy is one of nothing.
    if (!f.formals.empty() && !entry.parameters.empty()) f.formals[0].defaultValue.clear();
    f.initializer = " : CProxy_" + names_.chare.name + "(ckNew(" + join(arguments) + "))";
    f.body.clear();
    out_.push_back(std::move(f));
  }

  void newChare(const Entry& entry) {
    Function f = start(entry, "CkChareID", "ckNew");
    f.isStatic = true;
    f.formals.push_back({"int impl_onPE", "CK_PE_ANY"});
    withOptions(f, entry);
    const std::string call =
        "periapt::" + messageForm("newChare", entry) + callArguments(entry, {type(), ep(entry), "impl_onPE"});
    f.body.push_back("return " + call);
    out_.push_back(f);
    constructing(entry, f, {"impl_onPE"});
    Function g = start(entry, "void", "ckNew");
    g.isStatic = true;
    g.formals.push_back({"CkChareID* impl_id", ""});
    g.formals.push_back({"int impl_onPE", "CK_PE_ANY"});
    for (Function::Formal& formal : g.formals)
      if (formal.text != "int impl_onPE") formal.defaultValue.clear();
    withOptions(g, entry);
    g.body.push_back("const CkChareID impl_made = " + call);
    g.body.push_back("if (impl_id) *impl_id = impl_made;");
    out_.push_back(std::move(g));
  }

  void newGroup(const Entry& entry) {
    Function f = start(entry, "CkGroupID", "ckNew");
    f.isStatic = true;
    withOptions(f, entry);
    const std::string maker = names_.chare.kind == ChareKind::group ? "newGroup" : "newNodeGroup";
    f.body.push_back("return periapt::" + messageForm(maker, entry) + callArguments(entry, {type(), ep(entry)}));
    out_.push_back(f);
    constructing(entry, f, {});
  }

  void insert(const Entry& entry) {
    Function f = start(entry, "void", "insert");
    f.formals.push_back({"int impl_onPE", "-1"});
    withOptions(f, entry);
    f.body.push_back("periapt::" + messageForm("insertElement", entry) +
                     callArguments(entry, {self_, ep(entry), "impl_onPE"}));
    out_.push_back(std::move(f));
  }

  void newArray(const Entry& entry) {
    const bool plain = entry.parameters.empty();
    newArrayWith(entry, {{"const CkArrayOptions& impl_opts", plain ? "CkArrayOptions()" : ""}}, "impl_opts");
    if (names_.dimensions < 1 || names_.dimensions > 3) return;
    std::vector<Function::Formal> sizes;
    std::vector<std::string> sizeNames;
    for (int i = 1; i <= names_.dimensions; ++i) {
      sizeNames.push_back("impl_s" + std::to_string(i));
      sizes.push_back({"int " + sizeNames.back(), ""});
    }
    newArrayWith(entry, sizes, "CkArrayOptions(" + join(sizeNames) + ")");
  }

  void newArrayWith(const Entry& entry, const std::vector<Function::Formal>& shape, const std::string& arrayOptions) {
    for (bool async : {false, true}) {
      Function f = start(entry, async ? "void" : "CkArrayID", "ckNew");
      f.isStatic = true;
      for (Function::Formal& formal : f.formals) formal.defaultValue.clear();
      for (Function::Formal formal : shape) {
        if (async) formal.defaultValue.clear();
        f.formals.push_back(std::move(formal));
      }
      if (async) f.formals.push_back({"const CkCallback& impl_created", ""});
      withOptions(f, entry);
      std::vector<std::string> first = {type(), ep(entry), arrayOptions};
      if (async) first.push_back("impl_created");
      f.body.push_back((async ? "periapt::" : "return periapt::") +
                       messageForm(async ? "newArrayAsync" : "newArray", entry) + callArguments(entry, first));
      out_.push_back(std::move(f));
    }
  }

  /// Without a constructor that could run, an array is made empty and elements are inserted.
  void emptyArray() {
    Function f;
    f.owner = owner_;
    f.result = "CkArrayID";
    f.name = "ckNew";
    f.isStatic = true;
    f.formals = {{"const CkArrayOptions& impl_opts", "CkArrayOptions()"}};
    f.body = {"return periapt::newEmptyArray(" + type() + ", impl_opts);"};
    f.at = names_.chare.nameSpan.begin;
    Function async = f;
    async.result = "void";
    async.formals.insert(async.formals.begin(), {"const CkCallback& impl_created", ""});
    async.body = {"periapt::newArrayAsyncMessage(" + type() + ", -1, impl_opts, impl_created, nullptr);"};
    out_.push_back(std::move(f));
    out_.push_back(std::move(async));
  }

  const ChareNames& names_;
  Receiver receiver_;
  std::string owner_;
  std::string prefix_;
  std::string self_;
  std::vector<Function> out_;
};

}  // namespace

std::string parameterName(const Entry& entry, std::size_t i) {
  const std::string& name = entry.parameters[i].name;
  return name.empty() ? "impl_noname_" + std::to_string(i) : name;
}

std::string methodFormals(const Entry& entry) {
  std::string out;
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    Type type = sentType(entry.parameters[i]);
    if (entry.parameters[i].length) type.pointers.push_back(false);
    out += (i ? ", " : "") + type.text(parameterName(entry, i));
  }
  return out;
}

std::string sentFormal(const Parameter& p, const std::string& name) {
  if (isNcpy(p))
    return (isOnDevice(p) ? "const CkDeviceBuffer&" : "const CkNcpyBuffer&") + (name.empty() ? "" : " " + name);
  Type type = sentType(p);
  if (p.length) {
    type.isConst = true;
    type.pointers.push_back(false);
  } else if (type.references == 1 || (!type.references && type.pointers.empty() && !isScalar(type))) {
    type.isConst = true;
    type.references = 1;
  } else if (type.references == 0 && type.pointers.empty()) {
    type.isConst = false;
  }
  return type.text(name);
}

std::string Function::declaration() const {
  std::string out = header.empty() ? "" : declaredHeader + " ";
  out += isStatic ? "static " : isExplicit ? "explicit " : "";
  if (!result.empty()) out += result + " ";
  out += name + "(";
  for (std::size_t i = 0; i < formals.size(); ++i) {
    out += (i ? ", " : "") + formals[i].text;
    if (!formals[i].defaultValue.empty()) out += " = " + formals[i].defaultValue;
  }
  return out + (isConst ? ") const;" : ");");
}

std::string Function::head(const std::string& templateHeader) const {
  std::string out = templateHeader.empty() ? "" : templateHeader + " ";
  if (!header.empty()) out += header + " ";
  if (!result.empty()) out += result + " ";
  out += owner + "::" + name + "(";
  for (std::size_t i = 0; i < formals.size(); ++i) out += (i ? ", " : "") + formals[i].text;
  return out + ")" + (isConst ? " const" : "") + initializer + " {";
}

std::vector<Function> elementMethods(const ChareNames& names) { return Methods(names, Receiver::element).run(); }
std::vector<Function> proxyMethods(const ChareNames& names) {
  return names.isSingle() ? std::vector<Function>{} : Methods(names, Receiver::whole).run();
}
std::vector<Function> sectionMethods(const ChareNames& names) {
  return names.isSingle() ? std::vector<Function>{} : Methods(names, Receiver::section).run();
}

}  // namespace periapt::ci
