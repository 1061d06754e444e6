// NVTXTracer: names a stretch of a program in the profiles of NVIDIA's tools, from where it is made to the end of its
// block. It does nothing unless HAPI_NVTX_PROFILE is defined, which needs the toolkit's nvtx3.
#pragma once
#include <string>

enum class NVTXColor : unsigned {
  Turquoise = 0xFF1ABC9C,
  Emerald = 0xFF2ECC71,
  PeterRiver = 0xFF3498DB,
  Amethyst = 0xFF9B59B6,
  WetAsphalt = 0xFF34495E,
  GreenSea = 0xFF16A085,
  Nephritis = 0xFF27AE60,
  BelizeHole = 0xFF2980B9,
  Wisteria = 0xFF8E44AD,
  MidnightBlue = 0xFF2C3E50,
  SunFlower = 0xFFF1C40F,
  Carrot = 0xFFE67E22,
  Alizarin = 0xFFE74C3C,
  Clouds = 0xFFECF0F1,
  Concrete = 0xFF95A5A6,
  Orange = 0xFFF39C12,
  Pumpkin = 0xFFD35400,
  Pomegranate = 0xFFC0392B,
  Silver = 0xFFBDC3C7,
  Asbestos = 0xFF7F8C8D,
};

#ifdef HAPI_NVTX_PROFILE
#include <nvtx3/nvToolsExt.h>
#endif

class NVTXTracer {
 public:
#ifdef HAPI_NVTX_PROFILE
  explicit NVTXTracer(const char* name, NVTXColor color = NVTXColor::Turquoise) {
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.color = static_cast<unsigned>(color);
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxRangePushEx(&attributes);
  }
  ~NVTXTracer() { nvtxRangePop(); }
#else
  explicit NVTXTracer(const char*, NVTXColor = NVTXColor::Turquoise) {}
#endif
  explicit NVTXTracer(const std::string& name, NVTXColor color = NVTXColor::Turquoise)
      : NVTXTracer(name.c_str(), color) {}
};
