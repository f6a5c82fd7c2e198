"""The eighth set of recipes, written by a session that had not seen the reader; first run before any was mended."""

from __future__ import annotations

from tests.data.corpus.tables import read_verdicts

READABLE = """\
# What programs, libraries and cloud services write.
ranger_out layout=rnames :: abalone_sex = y F/I/M | pred.F = p of=F d=6 | pred.I = p of=I d=6 | pred.M = p of=M d=6
glm_fitted layout=rnames :: lowbirth = y 0/1 rate=.3 | lwt = normal 130 30 | smoke = flag |
    fitted_prob_lowbirth = p d=7
xgb_dump :: row = rownum 0 | true_label = y 0/1 rate=.25 | xgb_probability_1 = p of=1 d=6
proc_hpforest layout=windows :: Attrition = y No/Yes rate=.2 | P_AttritionNo = p of=No d=8 |
    P_AttritionYes = p of=Yes d=8 | I_Attrition = pred
spss_save layout=latin_quoted :: Fallnr = rownum 1 | Rueckfall = y nein/ja rate=.3 |
    Vorhergesagte_Wahrscheinlichkeit = p d=5
stata_predict layout=tab :: idcode = rownum 1 | union_member = y 0/1 rate=.25 | tenure = positive | pr_union = p d=7
mljar_side :: target_income = y <=50K/>50K rate=.25 | prediction_<=50K = p of=<=50K d=6 |
    prediction_>50K = p of=>50K d=6 | label = pred
weka_dist layout=txt :: inst# = rownum 1 | actual = y 1:negative/2:positive rate=.35 | predicted = pred |
    prob_2:positive = p of=2:positive d=3
lightgbm_multi layout=pandas :: cover_type = y 1..7 | lgb_class_{} = each d=6
pytorch_logits :: sample_idx = rownum 0 | fashion_label = y 0..9 | logit_{i} = each s=logit d=5
keras_softmax layout=unnamed :: gt_class = y 0..4 | softmax_{i} = each d=7
log_softmax_dump :: example_id = rownum 0 | gold_class = y 0..3 | logprob_{i} = each s=logp d=5
hf_pipeline layout=jsonl :: review_text = text mails | gold_sentiment = y NEGATIVE/POSITIVE rate=.5 |
    pipeline_scores = vec form=label_score d=6
vertex_batch layout=jsonl :: instance_id = id v | ground_truth = y daisy/rose/tulip |
    class_probabilities = vec form=dict d=5
bqml_logistic layout=jsonl :: predicted_defaulted = pred | predicted_defaulted_probs = vec form=label_prob d=6 |
    defaulted = y no/yes rate=.25
azure_two :: Purchased = y False/True rate=.3 | Scored Labels = pred | Scored Probabilities = p d=6
sagemaker_vec :: object_id = rownum 1 | truth_label = y 0/1/2 | probabilities = vec form=json d=4
numpy_cell :: img = id img_ | target_class = y 0..4 | predict_proba = vec form=numpy d=5
mlj_predict :: outcome_mlj = y absent/present rate=.4 | pdf_absent = p of=absent d=6 | pdf_present = p of=present d=6
jmp_saved layout=xlsx :: Batch No = rownum 1 | Quality = y Pass/Fail rate=.2 | Prob[Pass] = p of=Pass d=5 |
    Prob[Fail] = p of=Fail d=5 | Most Likely Quality = pred
knime_scored layout=knime :: Subscribed = y no/yes rate=.15 | P (Subscribed=no) = p of=no d=5 |
    P (Subscribed=yes) = p of=yes d=5 | Prediction (Subscribed) = pred
rapidminer_scored layout=semicolon :: Future Customer = y no/yes rate=.3 | prediction(Future Customer) = pred |
    confidence(no) = p of=no d=4 | confidence(yes) = p of=yes d=4
orange_export layout=tab :: mushroom = y edible/poisonous rate=.48 | Random Forest (edible) = p of=edible d=4 |
    Random Forest (poisonous) = p of=poisonous d=4
dataiku_scored :: will_buy = y 0/1 rate=.2 | proba_0 = p of=0 d=6 | proba_1 = p of=1 d=6 | prediction = pred
datarobot_out :: row_id = rownum 0 | readmitted = y False/True rate=.3 | readmitted_True_PREDICTION = p d=9 |
    readmitted_False_PREDICTION = p of=False d=9 | readmitted_PREDICTION = pred

# Medicine.
heart_failure :: age_years = age | ejection_fraction = normal 38 10 | DEATH_EVENT = y 0/1 rate=.3 | prob_death = p d=4
stroke_risk :: patient_no = rownum 1 | hypertension = flag | bmi = normal 28 5 | stroke = y 0/1 rate=.15 |
    predicted_stroke_probability = p d=5
icu_percent layout=comma :: Fall = rownum 1 | SAPS = int 20 90 | verstorben = y nein/ja rate=.25 |
    Sterberisiko_% = p s=pct d=1
sepsis_hospitals :: hospital_id = cluster H 14 | encounter_no = rownum 1 | sepsis = y 0/1 rate=.2 |
    sepsis_prob = p d=4
retina_eyes :: patient_id = cluster P 40 sorted=1 | eye = cat left/right | referable_dr = y 0/1 rate=.3 |
    prob_referable_dr = p d=4
mammo_pct :: exam_id = id E | density = cat a/b/c/d | biopsy_result = y benign/malignant rate=.3 |
    malignancy_probability_pct = p s=pct d=1
chest_xray :: image_path = id img/ | finding = y NORMAL/PNEUMONIA rate=.5 | prob_NORMAL = p of=NORMAL d=5 |
    prob_PNEUMONIA = p of=PNEUMONIA d=5
skin_five :: lesion_id = id ISIC_ | histology = y AK/BCC/NV/SCC/VASC | score_{} = each d=4
dementia_three :: RID = rownum 2 | DX = y CN/MCI/AD | p_{} = each d=4 | MMSE = int 18 30
embarked_fr layout=latin :: n° patient = rownum 1 | âge = age | décès = y non/oui rate=.2 |
    probabilité de décès = p d=3
diabetes_es layout=comma :: paciente = rownum 1 | glucosa = normal 120 30 | diabetes = y no/sí rate=.35 |
    probabilidad_diabetes = p d=4
it_tumore layout=quoted_semicolon :: codice = id IT | diagnosi = y benigno/maligno rate=.35 |
    prob_maligno = p of=maligno d=4
framingham_cut :: sysBP = normal 130 20 | totChol = normal 236 40 | TenYearCHD = y 0/1 rate=.15 |
    TenYearCHD_prob = p d=5
preterm_sites :: site_code = cluster S 9 | gest_age = normal 32 3 | preterm_birth = y No/Yes rate=.25 |
    risk_preterm_birth = p d=3
apnea_logit :: recording = rownum 1 | apnea = y 0/1 rate=.4 | apnea_logit = p s=logit d=4
survey_nhanes :: SEQN = rownum 83732 | hypertensive = y 0/1 rate=.3 | sampling_weight = weight |
    pred_prob_hypertensive = p d=4
covid_admission layout=bom :: admission_date = date | covid_positive = y 0/1 rate=.3 | p_covid_positive = p d=4
ecg_classes :: ecg_id = rownum 1 | rhythm = y AFIB/NSR/OTHER | prob_AFIB = p of=AFIB d=3 | prob_NSR = p of=NSR d=3 |
    prob_OTHER = p of=OTHER d=3
wisconsin :: ID number = rownum 842302 | radius_mean = normal 14 3 | diagnosis = y B/M rate=.37 |
    prob_B = p of=B d=5 |
    prob_M = p of=M d=5
liver_xlsx layout=xlsx :: Patient = rownum 1 | Bilirubin = positive | Cirrhosis = y No/Yes rate=.3 |
    Probability of cirrhosis = p d=3

# Money, shops, staff.
fraud_small :: TransactionID = rownum 2987000 | TransactionAmt = money | isFraud = y 0/1 rate=.1 |
    isFraud_proba = p d=6
lending_club :: loan_amnt = money | grade = cat A/B/C/D | loan_status = y Fully~Paid/Charged~Off rate=.2 |
    prob_charged_off = p d=5
branch_default :: branch_id = cluster B 12 | credit_limit = thousands | default_next_month = y 0/1 rate=.22 |
    PD = p d=4
taiwan_pct :: LIMIT_BAL = money | late = y No/Yes rate=.2 | probability_of_late_pct = p s=pct d=2
bankruptcy :: company = id K | ROA = gauss | Bankrupt? = y 0/1 rate=.12 | P(Bankrupt) = p d=5
term_deposit layout=semicolon :: job = cat admin/services/technician | balance = money | y = y no/yes rate=.15 |
    prob_yes = p d=5
insurance_claim layout=pandas :: policy_id = id POL | claim_filed = y 0/1 rate=.15 | claim_probability = p d=5
vehicle_interest :: Vintage = int 10 299 | Response = y 0/1 rate=.15 | prob_Response_1 = p of=1 d=5
hr_leaving layout=xlsx_titled :: Employee = rownum 1 | MonthlyIncome = money | left_company = y No/Yes rate=.2 |
    probability_left_company = p d=3
online_shop :: PageValues = positive | Revenue = y FALSE/TRUE rate=.2 | Revenue_probability = p d=4
hotel_booking :: lead_time = int 0 300 | is_canceled = y 0/1 rate=.37 | cancel_prob = p d=4
retention_it layout=comma :: cliente = id CL | abbandono = y no/sì rate=.25 | probabilità_abbandono = p d=4
kuendigung layout=latin :: Kundennummer = rownum 1001 | gekündigt = y nein/ja rate=.25 |
    Kündigungswahrscheinlichkeit in % = p s=pct d=1
click_ctr layout=tab :: impression_id = rownum 1 | device = cat mobile/desktop | clicked = y 0/1 rate=.15 |
    pCTR = p d=6
mortgage_weights :: obs_no = rownum 1 | survey_weight = weight | foreclosed = y 0/1 rate=.2 | foreclosure_prob = p d=4
segment_four :: Var_1 = cat Cat_1/Cat_2/Cat_3 | Segmentation = y A/B/C/D | Proba_{} = each d=4
delivery :: Warehouse_block = cat A/B/C/D | Reached_on_time = y 0/1 rate=.6 | prob_reached_on_time = p d=4
impago_es layout=bom_comma :: id_cliente = rownum 1 | saldo = money | impago = y 0/1 rate=.2 | prob_impago = p d=4
sinistre_fr layout=excel :: police = rownum 1 | sinistre = y non/oui rate=.2 | proba_sinistre = p d=4
upsell_json layout=records :: account = id A | upsold = y false/true rate=.25 | upsold_probability = p d=5

# Words, pictures, answers of language models.
llm_pairs :: question = text questions | model_answer_correct = correct 0/1 | stated_confidence = conf d=2
llm_percent layout=jsonl :: prompt = text questions | is_correct = correct False/True |
    confidence_percent = conf s=pct d=0
mmlu_letters :: question_id = rownum 0 | answer_key = y A/B/C/D | prob_of_{} = each d=5
arc_logprobs :: arc_id = id Mercury_ | answerKey = y A/B/C/D | lp_{} = each s=logp d=4
boolq_yes :: passage_no = rownum 0 | answer = y no/yes rate=.6 | p_yes = p d=4
judge_json layout=jsonl :: case = id c | correct = correct 0/1 | max_prob = conf d=4
top1_table :: filename = id val_ | label_name = y cat/dog/fox/owl | predicted_name = pred | top1_confidence = conf d=4
spam_sms :: message = text mails | category = y ham/spam rate=.2 | spam_probability = p d=4
toxic_one :: comment_id = uuid | toxic = y 0/1 rate=.15 | toxicity_probability = p d=5
airline_tweets :: tweet = text mails | airline_sentiment = y negative/neutral/positive |
    prob_negative = p of=negative d=4 |
    prob_neutral = p of=neutral d=4 | prob_positive = p of=positive d=4
news_groups layout=tab :: doc = rownum 0 | topic = y business/politics/sport/tech | P({}) = each d=4 order=shuffled
nli_logits :: pairID = rownum 0 | gold_label = y contradiction/entailment/neutral | {}_logit = each s=logit d=4
fake_news :: headline = text mails | veracity = y real/fake rate=.4 | prob_real = p of=real d=4 |
    prob_fake = p of=fake d=4
ocr_words :: page = int 1 40 | word_true = ytext | word_ocr = predtext | ocr_confidence = conf s=pct d=1
digits_usps layout=index :: digit = y 0..9 | proba_digit_{} = each d=5 order=text
intent_bot :: utterance = text questions | intent = y book/cancel/greet | intent_pred = pred |
    intent_confidence_{} = each d=4
emotion_vec layout=jsonl :: emotion = y anger/fear/joy/sadness | emotion_probs = vec form=dict d=4
speech_lang :: clip = id clip_ | language = y de/en/fr/it | lang_prob_{} = each d=4
deepfake :: video = id vid | is_fake = y 0/1 rate=.5 | fake_prob = p d=5
trivia_sampled :: trivia_question = text questions | answered_correctly = correct no/yes |
    self_reported_probability = conf d=2

# Weather, sport, nature, schools, machines.
rain_tomorrow :: Date = date | Location = maybe_cluster St 12 | RainTomorrow = y No/Yes rate=.25 |
    RainTomorrow_prob = p d=4
pop_forecast :: valid_date = date form=%Y%m%d | rain_observed = y 0/1 rate=.3 | PoP_percent = p s=pct d=0 steps=10
thunder :: init = date form=%Y-%m-%d~%H:%M | thunderstorm_observed = y 0/1 rate=.2 | thunderstorm_prob = p d=2
regen_de layout=comma :: Datum = date form=%d.%m.%Y | Regen = y nein/ja rate=.4 |
    Regenwahrscheinlichkeit = p s=pct d=0
tercile :: season_year = year | tercile_observed = y below/normal/above | prob_{}_tercile = each d=2
election :: district = rownum 1 | incumbent_won = y 0/1 rate=.6 | incumbent_win_probability = p d=3
soccer_probs :: match_date = date | result = y away/draw/home | prob_home = p of=home d=3 |
    prob_draw = p of=draw d=3 | prob_away = p of=away d=3
tennis :: tourney = const Halle | player1_won = y 0/1 rate=.5 | player1_win_prob = p d=3
xg_shots :: shot_id = rownum 1 | distance_m = normal 16 6 | goal = y 0/1 rate=.12 | xG = p d=3
field_goals :: kick_distance = int 18 60 | field_goal_made = y 0/1 rate=.8 | field_goal_made_prob = p d=3
pumps_status :: pump = rownum 1 | status_group = y functional/needs~repair/non~functional |
    prob {} = each d=4
beans layout=semicolon :: Area = normal 50000 9000 | Class = y BARBUNYA/CALI/SEKER/SIRA | {} = each d=4
penguin_like :: bill_mm = normal 44 5 | species_seen = y finch/robin/wren | P_{} = each s=pct d=1
school_dropout :: school_id = cluster Sch 11 | grade_average = normal 12 2 | dropped_out = y 0/1 rate=.2 |
    dropout_probability = p d=4
student_three :: Admission grade = normal 127 14 | Target = y Dropout/Enrolled/Graduate | Target_prob_{} = each d=4
machine_failure :: UDI = rownum 1 | Torque [Nm] = normal 40 9 | Machine failure = y 0/1 rate=.12 |
    Machine failure probability = p d=5
turbines :: turbine_id = maybe_cluster T 10 | wind_speed = normal 8 3 | gearbox_fault = y 0/1 rate=.2 |
    gearbox_fault_prob = p d=4
phishing layout=quoted :: url_id = rownum 1 | url_class = y legitimate/phishing rate=.4 | phishing_probability = p d=4
intrusion :: duration = int 0 900 | traffic = y normal/attack rate=.3 | attack_prob = p d=4
occupancy :: CO2 = normal 600 150 | Occupancy = y 0/1 rate=.25 | prob_occupied = p d=4
wildfire layout=markdown :: cell = rownum 1 | burned = y 0/1 rate=.2 | burn_probability = p d=4
bird_calls :: xeno_id = id XC | bird = y blackbird/chiffchaff/wren | prob.{} = each d=4
potable layout=parquet :: ph = normal 7 1 | Potable = y 0/1 rate=.4 | Potable_probability = p d=5
flight_delay layout=sql_server :: carrier = cat AA/DL/UA | delayed = y 0/1 rate=.2 | delay_probability = p d=4
blank_labels blank=frost:.2 :: station_night = date | min_temp = gauss | frost = y 0/1 rate=.4 |
    frost_probability = p d=3
permille_loss layout=pipe :: parcel = rownum 1 | parcel_lost = y 0/1 rate=.1 |
    loss_probability_permille = p s=permille d=0
"""

# Two readings are plausible, or the scale cannot be told.
ASKED = """\
two_networks :: crack = y 0/1 rate=.3 | resnet_prob = p m=resnet d=4 | vit_prob = p m=vit d=4
two_forecasters :: hail = y 0/1 rate=.2 | alice_prob = p m=alice d=2 | bob_prob = p m=bob d=2
old_new_model :: claim_paid = y 0/1 | prob_old_model = p m=old d=4 | prob_new_model = p m=new d=4
raw_platt :: cancer_confirmed = y 0/1 rate=.3 | prob_raw = p m=raw d=5 | prob_platt = p m=platt d=5
clubelo_market :: home_victory = y 0/1 rate=.5 | elo_home_p = p m=elo d=3 | market_home_p = p m=market d=3
species_two_nets :: plant = y fern/moss/oak | effnet_{} = each m=effnet d=4 | knn_{} = each m=knn d=4
two_outcomes_icu also=dead_hosp:mortality_prob :: dead_icu = y 0/1 rate=.2 | dead_hosp = y2 0/1 |
    mortality_prob = p d=4
two_graders also=grader2:disease_prob :: grader1 = y 0/1 | grader2 = y2 0/1 | disease_prob = p d=4
two_churns also=churn_60:churn_risk :: churn_30 = y 0/1 | churn_60 = y2 0/1 | churn_risk = p d=4
verbal_llm or_refuse=yes :: quiz_item = text questions | item_correct = correct 0/1 | confidence_words = verbal
svm_distance or_refuse=yes :: photo = rownum 1 | smiling = y 0/1 rate=.5 | decision_value = p s=logit d=4
ten_points or_refuse=yes :: defendant = rownum 1 | recidivated = y 0/1 rate=.4 | risk_1_to_10 = p s=ten d=0
left_or_right or_refuse=yes :: handtrial = rownum 1 | hand = y left/right rate=.5 | hand_probability = p d=4
red_blue or_refuse=yes :: duel = rownum 1 | Winner_corner = y Blue/Red rate=.5 | predicted_prob = p d=3
coded_12 or_refuse=yes :: record_nr = rownum 1 | group12 = y 1/2 rate=.5 | group_prob = p d=4
offset_classes or_refuse=yes :: seedlot = rownum 1 | cultivar = y 1/2/3 | cultivar_proba_{i} = each d=4
bare_letters or_refuse=yes also=d:a,d:b,d:e :: a = unit | b = unit | d = y 0/1 | e = p d=4
headless_two layout=headless or_refuse=yes :: h1 = y 0/1 | h2 = p d=4
"""

# Nothing to read.
REFUSED = """\
submission or_refuse=yes :: PassengerNr = rownum 892 | Transported_prob = p d=5
hard_labels :: crop_true = y maize/rice/wheat | crop_predicted = pred
features_alone :: alcohol = normal 10 1 | sulphates = normal 0.6 0.2 d=2 | wine_color = y red/white
house_prices :: parcel_no = rownum 1 | median_value = money | median_value_hat = money
training_curve n=40 or_refuse=yes :: epoch = rownum 1 | loss = positive | val_loss = positive | lr = const 0.001
pr_curve n=60 or_refuse=yes :: precision = unit | recall = unit | threshold = unit
importances n=20 :: feature = id f | gain = positive | split_count = int 1 90
coefs n=15 :: term = id b | estimate = gauss | std.error = unit | p.value = unit
sensor_log :: time = date form=%Y-%m-%d~%H:%M | temperature = normal 20 4 | pressure = normal 1013 8
addresses :: surname = id N | town = cat Lyon/Paris/Nice | member_since = date
unlabelled or_refuse=yes :: uuid = uuid | prob_ok = p of=correct d=4 | scored_at = date
mail_sorting :: subject_line = text mails | folder = y archive/inbox/junk
"""

RECIPES = read_verdicts(READABLE, ASKED, REFUSED)
